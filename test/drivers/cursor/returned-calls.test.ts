import { expect, it } from "vitest";
import type { CallEntry } from "../../../src/core/engine/call-log.ts";
import { createEngine, type Engine } from "../../../src/core/engine/engine.ts";
import { createSentCalls } from "../../../src/core/history/sent-calls.ts";
import type { AssistantMessage, JsonObject, Message, ToolDefinition } from "../../../src/core/turn.ts";
import { aTurn, type DriverStage, setUpDriver, user } from "./support/driver-stage.ts";

const EDITS = 30;

const edit: ToolDefinition = {
  name: "Edit",
  description: "edits a file",
  schema: {
    type: "object",
    properties: {
      file_path: { type: "string" },
      new_string: { type: "string" },
      replace_all: { type: "boolean", default: false },
    },
    required: ["file_path", "new_string"],
  },
};

/** What the client has of an answer: it adds the schema's defaults to every call. */
type Returned = (args: JsonObject) => JsonObject;
const withDefaults: Returned = (args) => ({ replace_all: false, note: null, ...args });

const engineOf = ({ driver }: DriverStage, sentCalls = createSentCalls()) => {
  const calls: CallEntry[] = [];
  const options = { drivers: new Map([["cursor", driver]]), route: () => "cursor", sentCalls };
  return { calls, engine: createEngine({ ...options, callLog: (entry) => calls.push(entry) }) };
};

async function ask(engine: Engine, messages: readonly Message[], returned: Returned, tools = [edit]) {
  const content: AssistantMessage["content"][number][] = [];
  const context = { requestId: "r", signal: new AbortController().signal };
  for await (const events of engine.run(aTurn(messages, { tools }), context)) {
    for (const event of events) {
      if (event.type === "text") content.push(event);
      if (event.type === "tool-call") content.push({ ...event, args: returned(event.args) });
    }
  }
  const results = content.flatMap((part): Message[] =>
    part.type === "tool-call"
      ? [{ role: "tool", callId: part.id, content: [{ type: "text", text: "edited" }], isError: false }]
      : [],
  );
  return { results, messages: [...messages, { role: "assistant", content } as const, ...results] };
}

const prompt = (edits: number) =>
  [
    "@sim",
    ...Array.from({ length: edits }, (_, n) => `call Edit {"file_path":"f${n}","new_string":"x"} ;; wait ;;`),
  ].join(" ");

it("a task of edits, sent back with the schema's defaults, runs on one stream and ends in its checkpoint", async () => {
  const stage = await setUpDriver("h2");
  const sentCalls = createSentCalls();
  const { engine, calls } = engineOf(stage, sentCalls);
  const count = (...kinds: string[]) => stage.trace.filter(({ kind }) => kinds.includes(kind)).length;
  let turn = await ask(engine, [user(`${prompt(EDITS)} say done`)], withDefaults);
  const bootstrap = () => count("run_request", "request_context_args", "get_blob_args");
  const before = bootstrap();
  while (turn.results.length > 0) turn = await ask(engine, turn.messages, withDefaults);
  expect(calls.filter(({ type }) => type === "replayed" || type === "lost")).toEqual([]);
  expect(calls.filter(({ type }) => type === "answered")).toHaveLength(EDITS);
  expect(bootstrap()).toBe(before);

  // After a restart, and without the tool and so its schema.
  const restarted = engineOf(stage, sentCalls).engine;
  await expect.poll(() => stage.checkpoints.size).toBeGreaterThan(0);
  const next = await ask(restarted, [...turn.messages, user("@sim say {{reused}}")], withDefaults, []);
  expect(next.messages.at(-1)?.content).toMatchObject([{ type: "text", text: "checkpoint" }]);
});

it.each<[what: string, returned: Returned]>([
  ["another value", (args) => ({ ...args, new_string: "y" })],
  ["more than a default", (args) => ({ ...args, replace_all: true })],
])("a call that comes back with %s is another one", async (_, returned) => {
  const stage = await setUpDriver("h2");
  const { engine, calls } = engineOf(stage);
  const first = await ask(engine, [user(`${prompt(1)} say done`)], returned);
  await ask(engine, first.messages, returned);
  expect(calls.flatMap(({ type, reason }) => (type === "replayed" ? [reason] : []))).toEqual(["edited"]);
});
