import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseScripts } from "../../../src/sim/script/parse.ts";

const steps = (text: string) => parseScripts(text)[0]?.steps;

describe("where a step begins and ends", () => {
  it.each([
    ["at the start of a line", "@sim say hi"],
    ["after white space", "  \t@sim say hi"],
    ["after a quote, which is dropped at the end", '"@sim say hi"'],
    ["after other quotes", "“@sim say hi”"],
    ["after > as in a quoted mail", "> > @sim say hi"],
    ["after tags, closed at the end", "<user_query>@sim say hi</user_query>"],
    ["after a tag with attributes and a quote", '<m role="u">"@sim say hi"</m>'],
    ["inside a wrapper on lines of its own", "<user_query>\n@sim say hi\n</user_query>"],
    ["with a carriage return", "@sim say hi\r\nmore"],
    ["with a tab", "@sim\tsay hi"],
    ["more than one blank after it", "@sim   say   hi"],
  ])("%s", (_, text) => {
    expect(steps(text)).toEqual([{ type: "say", text: "hi" }]);
  });

  it.each(["say hi", "user: @sim say hi", "@simsay hi", "please @sim say hi", ""])("not in %j", (text) => {
    expect(parseScripts(text)).toEqual([]);
  });

  it("several steps stand on one line, apart by ` ;; `", () => {
    expect(steps("@sim say a;;b ;; think c ;; @sim say d")).toEqual([
      { type: "say", text: "a;;b" },
      { type: "think", text: "c" },
      { type: "say", text: "d" },
    ]);
  });

  it("a quote that the step itself opened stays", () => {
    expect(steps('@sim say he said "hi"')).toEqual([{ type: "say", text: 'he said "hi"' }]);
  });
});

describe("what a step says", () => {
  it.each([
    ["say a\\nb\\\\n", { type: "say", text: "a\nb\\n" }],
    [
      'call read {"path":"/a","n":[1,{"x":null}]}',
      { type: "call", name: "read", args: { path: "/a", n: [1, { x: null }] } },
    ],
    ['call read {\\"path\\":\\"/a\\"}', { type: "call", name: "read", args: { path: "/a" } }],
    ["call noargs", { type: "call", name: "noargs", args: {} }],
    ['exec shell {"command":"ls"}', { type: "exec", exec: "shell", args: { command: "ls" } }],
    ["exec #99", { type: "exec", exec: 99, args: {} }],
    ['ask {"webSearchRequestQuery":{}}', { type: "ask", query: { webSearchRequestQuery: {} } }],
    ["ask #12", { type: "ask", query: 12 }],
    ["wait", { type: "wait" }],
    ["tokens 10 20", { type: "tokens", count: 10, everyMs: 20 }],
    ["tokens 10", { type: "tokens", count: 10, everyMs: 0 }],
    ["silent 300", { type: "silent", ms: 300 }],
    ["usage 1 2 3", { type: "usage", input: 1, output: 2, cached: 3 }],
    ["need a, b,c", { type: "need", names: ["a", "b", "c"] }],
    ["fault rst", { type: "fault", fault: "rst", times: 1 }],
    ["fault rst code=11 times=3", { type: "fault", fault: "rst", code: 11, times: 3 }],
    ["fail unavailable", { type: "fail", code: "unavailable", text: "", times: Number.POSITIVE_INFINITY }],
    [
      'fail internal ERROR_PROVIDER_ERROR title="Two words" retryable=false retry=3 times=2 it = broken',
      {
        type: "fail",
        code: "internal",
        errorName: "ERROR_PROVIDER_ERROR",
        title: "Two words",
        retryable: false,
        retryAfterS: 3,
        times: 2,
        text: "it = broken",
      },
    ],
    [
      "fail http=429 slow",
      { type: "fail", code: "resource_exhausted", http: 429, text: "slow", times: Number.POSITIVE_INFINITY },
    ],
  ])("%s", (source, step) => {
    expect(steps(`@sim ${source}`)).toEqual([step]);
  });

  it.each([
    ["dance", "unknown step"],
    ["call", "needs a tool name"],
    ["call x {broken", "is not a JSON object"],
    ["call x [1]", "is not a JSON object"],
    ["exec teleport {}", "exec needs one of"],
    ["fault earthquake", "fault needs one of"],
    ["fail nonsense", "Connect code"],
    ["fail title=x", "Connect code, or http="],
    ["fail", "fail needs a Connect code"],
    ["fail internal ERROR_NOPE text", "there is no ERROR_NOPE"],
    ["tokens many", "is not a number"],
    ["silent -5", "is not a number"],
    ["usage 1", "is not 2 numbers"],
    ["need", "at least one tool"],
  ])("%s is no step, and says why", (source, reason) => {
    expect(steps(`@sim ${source}`)).toEqual([{ type: "invalid", source, reason: expect.stringContaining(reason) }]);
  });
});

describe("scripts", () => {
  it("next cuts them", () => {
    const scripts = parseScripts("@sim say a ;; next ;; say b\n@sim next\n@sim say c");
    expect(scripts.map(({ source }) => source)).toEqual(["say a", "say b", "say c"]);
  });

  it("next may come first: this turn gets the echo", () => {
    expect(parseScripts("@sim next ;; say later").map(({ steps: parsed }) => parsed.length)).toEqual([0, 1]);
  });

  it("never throws, whatever the text (SEC-26)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom("@sim ", "<", ">", '"', " ;; ", "\n", "say ", "{"))),
        (parts) => {
          parseScripts(parts.join(""));
        },
      ),
    );
  });

  it.each(["<".repeat(200_000), '"'.repeat(200_000), `${"<a>".repeat(70_000)}x`, `@sim say ${"</a>".repeat(50_000)}`])(
    "is linear on adversarial text (SEC-26) %#",
    (text) => {
      expect(
        parseScripts(`${text}\n@sim say hi`)
          .flatMap(({ steps: parsed }) => parsed)
          .at(-1),
      ).toEqual({ type: "say", text: "hi" });
    },
  );
});
