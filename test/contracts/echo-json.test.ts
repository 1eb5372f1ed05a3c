import { echoJson } from "../../docs/examples/echo-json-face.ts";
import { describeFace, PROMPT, type Said } from "./face.ts";

describeFace("the example face", {
  module: echoJson,
  request: (isStream) => ({
    url: `/echo/m:ask?stream=${isStream}`,
    body: { prompt: PROMPT, tools: [{ name: "look", schema: { type: "object" } }] },
  }),
  wrong: { url: "/echo/m:ask", body: { prompt: "" }, field: "prompt" },
  readStream: (stream) =>
    stream
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line)
      .reduce<Said>(
        (said, { text = "", thinking = "", call, usage, done, error }) => ({
          text: said.text + text,
          thinking: said.thinking + thinking,
          calls: call ? [...said.calls, { name: call.name, args: call.args }] : said.calls,
          usage: usage ? { input: usage.inputTokens, output: usage.outputTokens } : said.usage,
          isEnded: done !== undefined,
          error: error?.message,
        }),
        { text: "", thinking: "", calls: [], usage: undefined, isEnded: false, error: undefined },
      ),
  readWhole(body) {
    const { text, thinking, calls, usage, done } = body as unknown as Required<Line> & {
      calls: Required<Line>["call"][];
    };
    return {
      text,
      thinking,
      calls: calls.map(({ name, args }) => ({ name, args })),
      usage: { input: usage.inputTokens, output: usage.outputTokens },
      isEnded: done !== undefined,
      error: undefined,
    };
  },
  readError: (body) => (body as unknown as Required<Line>).error.message,
});

interface Line {
  readonly text?: string;
  readonly thinking?: string;
  readonly call?: { readonly name: string; readonly args: unknown };
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly done?: string;
  readonly error?: { readonly message: string };
}
