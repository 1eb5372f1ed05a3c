import { describe, expect } from "vitest";
import type { Driver, Run } from "../../src/core/driver.ts";
import { createEngine } from "../../src/core/engine/engine.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import type { JsonObject, Message, ToolMessage, Turn } from "../../src/core/turn.ts";
import { usageObject } from "../../src/faces/anthropic-messages/usage.ts";
import { AgentClientMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { StreamUnifiedChatRequestWithToolsSchema } from "../../src/gen/aiserver/v1/unified_chat_pb.ts";
import { assistant, aTurn, open, read, user } from "../drivers/cursor/support/driver-stage.ts";
import { cassette } from "./support/cassette-case.ts";

const look = { name: "look", description: "looks", schema: { type: "object", properties: {} } };
const ask = (driver: Driver, ...messages: readonly Message[]) => read(open(driver, aTurn(messages, { tools: [look] })));

/** Reads a run up to its calls, and gives each the text that `answer` returns. */
async function answerCalls(run: Run, before: readonly Message[], answer: (args: JsonObject) => string) {
  const { events } = await read(run);
  const calls = events.filter((event) => event.type === "tool-call");
  const results = calls.map(
    ({ id, args }): ToolMessage => ({
      role: "tool",
      callId: id,
      content: [{ type: "text", text: answer(args) }],
      isError: false,
    }),
  );
  const history: readonly Message[] = [...before, { role: "assistant", content: calls }, ...results];
  run.submitResults(results, history);
  return { calls, history };
}

cassette({
  name: "text-after-tool",
  claim: "a conversation with text after a tool call continues from its checkpoint",
  async act(driver) {
    const prompt = user("@sim call look {} ;; say after");
    const run = open(driver, aTurn([prompt], { tools: [look] }));
    const { history } = await answerCalls(run, [prompt], () => "a file");
    const { text } = await read(run);
    return ask(driver, ...history, assistant(text), user("@sim say next"));
  },
  async check({ text, error }, { sent }) {
    expect([text, error]).toEqual(["next", undefined]);
    const [, second] = await sent("run_request", AgentClientMessageSchema);
    const { conversationState } = second?.message.case === "runRequest" ? second.message.value : {};
    // A replay from the transcript would have no turns of the backend.
    expect(conversationState?.turns).toHaveLength(1);
  },
});

cassette({
  name: "last-checkpoint",
  claim: "an answer is over with its last checkpoint and end frame, so that no stream is reset",
  act: (driver) => ask(driver, user("@sim say done")),
  async check({ text }, { checkpoints }) {
    expect(text).toBe("done");
    await expect.poll(() => checkpoints.size).toBe(1);
  },
});

cassette({
  name: "rejected-version",
  claim: "a bare permission_denied names clientVersion",
  act: (driver) => ask(driver, user("@sim fail permission_denied")),
  check({ error }) {
    expect(ExcursorError.from(error).hint).toContain("clientVersion");
  },
});

cassette({
  name: "rejected-token",
  claim: "a rejected token is an error of the login, not an empty answer",
  act: (driver) => ask(driver, user("@sim fail unauthenticated")),
  check({ text, error }) {
    expect([text, ExcursorError.from(error).kind]).toEqual(["", "unauthenticated"]);
  },
});

cassette({
  name: "same-tool-twice",
  claim: "two calls of one tool are kept apart",
  async act(driver) {
    const prompt = user('@sim call look {"n":1} ;; call look {"n":2} ;; say {{result.0}} {{result.1}}');
    const run = open(driver, aTurn([prompt], { tools: [look] }));
    const { calls } = await answerCalls(run, [prompt], ({ n }) => `r${n}`);
    return { ids: calls.map(({ id }) => id), ...(await read(run)) };
  },
  check({ ids, text }) {
    expect([new Set(ids).size, text]).toEqual([2, "r1 r2"]);
  },
});

cassette({
  name: "cancel",
  claim: "a cancelled run sends the protocol's own cancel before anything is reset",
  async act(driver) {
    for await (const _ of open(driver, aTurn([user("@sim say a ;; silent 60000")]))) break;
  },
  async check(_, { sent }) {
    expect(await sent("conversation_action", AgentClientMessageSchema)).toHaveLength(1);
  },
});

/** A driver whose answers come in one batch, as they do to a slow reader. */
const inOneBatch = (driver: Driver): Driver => ({
  ...driver,
  open(turn, context) {
    const run = driver.open(turn, context);
    return {
      submitResults: (...given) => run.submitResults(...given),
      cancel: () => run.cancel(),
      async *[Symbol.asyncIterator]() {
        yield (await Array.fromAsync(run)).flat();
      },
    };
  },
});

describe.each([
  ["a stop sequence", { stop: ["two"] }],
  ["max_tokens", { maxOutputTokens: 2 }],
] as const satisfies readonly (readonly [string, Partial<Turn>])[])("%s", (what, limit) => {
  cassette({
    name: `${what.replace(/\W|_/g, "-")}-before-calls`,
    claim: "right before tool calls cancels the run",
    async act(driver) {
      const engine = createEngine({ drivers: new Map([["d", inOneBatch(driver)]]), route: () => "d" });
      const turn = aTurn([user("@sim say one two three four ;; call look {}")], { tools: [look], ...limit });
      const answer = engine.run(turn, { requestId: "r1", signal: new AbortController().signal });
      const events = (await Array.fromAsync(answer)).flat();
      await engine.close();
      return events;
    },
    async check(events, { sent }) {
      expect(events.map(({ type }) => type)).not.toContain("tool-call");
      expect(events.at(-1)).toMatchObject({ type: "done", reason: expect.stringMatching(/^(?:stop|length)/) });
      const [action, ...others] = await sent("conversation_action", AgentClientMessageSchema);
      expect(action?.message.value).toMatchObject({ action: { case: "cancelAction" } });
      expect(others).toEqual([]);
    },
  });
});

cassette({
  name: "cache-written",
  claim: "tokens that were written to the prompt cache are no part of Anthropic's input_tokens",
  act: (driver) => ask(driver, user("@sim usage 1000 20 300 400 ;; say counted")),
  check({ events }) {
    const [usage] = events.filter((event) => event.type === "usage");
    expect(usage && usageObject(usage.usage)).toMatchObject({
      input_tokens: 300,
      cache_creation_input_tokens: 400,
      cache_read_input_tokens: 300,
      output_tokens: 20,
    });
  },
});

cassette({
  name: "free-text-shell",
  claim: "a native command of the model reaches a client whose shell takes free text",
  async act(driver) {
    const schema = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };
    const description = "Run JavaScript code, for example `await tools.exec_command(...)`.";
    const prompt = user('@sim exec shell {"command":"ls -a"} ;; say it ran');
    const run = open(driver, aTurn([prompt], { tools: [{ name: "exec", description, schema }] }));
    const { calls } = await answerCalls(run, [prompt], () => "a file");
    return { calls, ...(await read(run)) };
  },
  check({ calls, text }) {
    expect(calls).toMatchObject([{ name: "exec", args: { input: expect.stringContaining("ls -a") } }]);
    expect(text).toBe("it ran");
  },
});

cassette({
  name: "deep-arguments",
  claim: "arguments of more than 30 levels in a conversation do not break the request",
  act(driver) {
    let args: JsonObject = { end: "here" };
    for (let depth = 0; depth < 60; depth++) args = { inner: args };
    const call = { type: "tool-call" as const, id: "c1", name: "look", args };
    return ask(
      driver,
      user("look"),
      { role: "assistant", content: [call] },
      { role: "tool", callId: "c1", content: [{ type: "text", text: "seen" }], isError: false },
      user("@sim say fine"),
    );
  },
  check({ text, error }) {
    expect([text, error]).toEqual(["fine", undefined]);
  },
});

cassette({
  name: "legacy-effort",
  driver: "cursor-legacy",
  claim: "the older chat call sends the reasoning effort",
  act: (driver) => ask(driver, user("@sim say hi")),
  async check({ text }, { sent }) {
    const [first] = await sent("stream_unified_chat_request", StreamUnifiedChatRequestWithToolsSchema);
    const { thinkingLevel } = first?.request.case === "streamUnifiedChatRequest" ? first.request.value : {};
    expect([text, thinkingLevel]).toEqual(["hi", 2]);
  },
});

cassette({
  name: "legacy-ends-after-call",
  driver: "cursor-legacy",
  claim: "the older chat call has called tools if its stream ends right after them",
  act: (driver) => ask(driver, user("@sim say look ;; fault end-after-calls ;; call look {}")),
  check({ events, error }) {
    expect(error).toBeUndefined();
    expect(events.filter(({ type }) => type === "tool-call")).toHaveLength(1);
    expect(events.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
  },
});
