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
    ["in a code span", "`@sim say hi`"],
    ["in a fence on one line", "```@sim say hi```"],
    ["in several quotes and tags", "“<q>'@sim say hi'</q>”"],
    ["before a closing quote of another line", "@sim say hi”"],
    ["before a closing fence of another line", "@sim say hi```"],
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

  it.each([
    ['he said "hi"'],
    ["“hi”"],
    ["‘hi’ and “‘hi’”"],
    ["it’s ‘fine’"],
    ["it's 'fine'"],
    ["`hi`"],
    ["```hi```"],
    ["a <b>x</b>"],
    ["5 < 6 > 4"],
  ])("a quote or tag that the step itself opened stays: %s", (text) => {
    expect(steps(`@sim say ${text}`)).toEqual([{ type: "say", text }]);
  });

  it.each([
    ["'@sim say it's fine'", "it's fine"],
    ["‘@sim say it’s fine’", "it’s fine"],
    ["'@sim say the dogs' bone'", "the dogs' bone"],
    ['"@sim say he said "hi""', 'he said "hi"'],
    ["<q a='1'>\"@sim say 'a' </q>\"</q>", "'a'"],
    ["```@sim say `hi` there```", "`hi` there"],
    ["```@sim say `hi`", "`hi`"],
  ])("one closing quote goes for each that stood before @sim: %s", (line, text) => {
    expect(steps(line)).toEqual([{ type: "say", text }]);
  });

  it.each(["\u2028", "\u2029", "\r", "\u0085"])("%j ends no line", (separator) => {
    expect(steps(`@sim say a${separator}b ;; say c`)).toEqual([
      { type: "say", text: `a${separator}b` },
      { type: "say", text: "c" },
    ]);
  });

  it("` ;; ` in the JSON of a step separates nothing", () => {
    const call = (command: string) => ({ type: "call", name: "sh", args: { command } });
    expect(steps('@sim say a ;; call sh {"command":"b ;; c ;; } ;; d"} ;; say e')).toEqual([
      { type: "say", text: "a" },
      call("b ;; c ;; } ;; d"),
      { type: "say", text: "e" },
    ]);
    expect(steps('"@sim call sh {\\"command\\":\\"b ;; c\\"} ;; @sim call sh {\\"command\\":\\"d\\"}"')).toEqual([
      call("b ;; c"),
      call("d"),
    ]);
    expect(steps("@sim call sh {broken ;; say b} ;; call ;;")?.map(({ type }) => type)).toEqual([
      "invalid",
      "say",
      "invalid",
    ]);
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
    [
      String.raw`call sh {\"cmd\":\"echo \\\"hi\\\" \\\\ there\"}`,
      { type: "call", name: "sh", args: { cmd: 'echo "hi" \\ there' } },
    ],
    ["call noargs", { type: "call", name: "noargs", args: {} }],
    ['exec shell {"command":"ls"}', { type: "exec", exec: "shell", args: { command: "ls" } }],
    ["exec #99", { type: "exec", exec: 99, args: {} }],
    ['ask {"webSearchRequestQuery":{}}', { type: "ask", query: { webSearchRequestQuery: {} } }],
    ["ask #12", { type: "ask", query: 12 }],
    ["ask #536870911", { type: "ask", query: 536_870_911 }],
    ["silent 2147483647", { type: "silent", ms: 2_147_483_647 }],
    ["wait", { type: "wait" }],
    ["tokens 10 20", { type: "tokens", count: 10, everyMs: 20 }],
    ["tokens 10", { type: "tokens", count: 10, everyMs: 0 }],
    ["silent 300", { type: "silent", ms: 300 }],
    ["usage 1 2 3", { type: "usage", input: 1, output: 2, cached: 3, written: 0 }],
    ["usage 9 2 3 4", { type: "usage", input: 9, output: 2, cached: 3, written: 4 }],
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
    ["constructor x", "unknown step"],
    ["toString", "unknown step"],
    ["__proto__ x", "unknown step"],
    ["ask", "needs a query"],
    ['ask {"bad":1}', "needs a query"],
    ['ask {"id":1}', "needs a query"],
    ['ask {"webSearchRequestQuery":"x"}', "cannot decode"],
    ["ask #0", "from 1 to 536870911"],
    ["exec #0", "from 1 to 536870911"],
    ["exec #536870912", "from 1 to 536870911"],
    ["exec #1x {}", "from 1 to 536870911"],
    ["tokens many", "is not a whole number"],
    ["tokens 2.5", "is not a whole number"],
    ["tokens 99999999999", "from 0 to 10000000"],
    ["tokens 1 2147483648", "from 0 to 2147483647"],
    ["tokens 1 2 3", "is not 1 to 2 whole numbers"],
    ["silent", "is not 1 whole number"],
    ["silent -5", "is not a whole number"],
    ["silent 2147483648", "from 0 to 2147483647"],
    ["usage 1", "is not 2 to 4 whole numbers"],
    ["usage 1.5 2", "is not a whole number"],
    ["usage 1e30 2", "from 0 to 9007199254740991"],
    ["fail http=399", 'http: "399" is not a whole number from 400 to 599'],
    ["fail http=600", "from 400 to 599"],
    ["fail http=503.5", "from 400 to 599"],
    ["fail internal times=0", "times"],
    ["fail internal retry=soon", "retry"],
    ["fault rst times=", "times"],
    ["fault rst code=4294967296", "code"],
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

  it.each([
    "<".repeat(200_000),
    '"'.repeat(200_000),
    `${"<a>".repeat(70_000)}x`,
    `@sim say ${"</a>".repeat(50_000)}`,
    `@sim say ${"”".repeat(200_000)}`,
    `@sim say ${"<a".repeat(100_000)}>`,
    `@sim ${'call x {" } ;; '.repeat(30_000)}`,
    `${"'".repeat(100_000)}@sim say x${"'".repeat(100_000)}`,
  ])("is linear on adversarial text (SEC-26) %#", (text) => {
    expect(
      parseScripts(`${text}\n@sim say hi`)
        .flatMap(({ steps: parsed }) => parsed)
        .at(-1),
    ).toEqual({ type: "say", text: "hi" });
  });
});
