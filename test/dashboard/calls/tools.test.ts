import { expect, it } from "vitest";
import { type ToolSources, toolCalls } from "../../../src/dashboard/calls/tools.ts";

/** Notes what is called, and answers with the name of the call. */
function notedSources() {
  const calls: string[] = [];
  const note =
    (name: string) =>
    (...args: readonly unknown[]) => {
      calls.push(
        [name, ...args.filter((arg) => !(arg instanceof AbortSignal)).map((arg) => JSON.stringify(arg))].join(" "),
      );
      return { by: name };
    };
  const sources = new Proxy({}, { get: (_, name) => note(String(name)) }) as ToolSources;
  return { sources, calls };
}

it.each([
  ["GET /tools", {}, ["list"], { by: "list" }],
  ["GET /agents", {}, ["agents"], { by: "agents" }],
  ["POST /tools", {}, ["connect", "list"], { by: "list" }],
  ["GET /tool", { query: { server: "s", tool: "t" } }, ['find "s" "t"'], { by: "find" }],
  [
    "POST /tool-calls",
    { body: { server: "s", tool: "t", arguments: { a: 1 } } },
    ['call "s" "t" {"a":1}'],
    { by: "call" },
  ],
  ["POST /sign-ins", { body: { server: "s" } }, ['signIn "s"'], { by: "signIn" }],
  ["POST /sign-in-addresses", { body: { server: "s", address: "a" } }, ['finishSignIn "s" "a"'], {}],
  ["DELETE /sign-ins/{server}", { path: { server: "s" } }, ['cancelSignIn "s"'], {}],
  [
    "POST /approvals",
    { body: { server: "s", tool: "t", digest: "d" } },
    ['approve {"server":"s","tool":"t","digest":"d"}'],
    {},
  ],
])("%s does what the page asks for", async (route, { body, query = {}, path = {} }: Given, expected, answer) => {
  const { sources, calls } = notedSources();
  const call = toolCalls(sources).find((one) => `${one.method} ${one.path}` === route);
  const { signal } = new AbortController();
  const request = { body, query: new URLSearchParams(query), path, signal };
  expect(await call?.handle(request as never)).toEqual(answer);
  expect(calls).toEqual(expected);
});

interface Given {
  readonly body?: object;
  readonly query?: Record<string, string>;
  readonly path?: Record<string, string>;
}
