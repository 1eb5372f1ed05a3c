import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { Thoughts } from "../../../src/core/thinking/thoughts.ts";
import type { JsonObject } from "../../../src/core/turn.ts";
import { createResponseArchive } from "../../../src/faces/openai-responses/archive.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";
import { createThoughtStore } from "../../../src/state/thought-store.ts";
import { MemoryStore, parse, refusal } from "./support/requests.ts";

const text = (value: string): TurnEvent => ({ type: "text", text: value });
const DONE: TurnEvent = { type: "done", reason: "stop" };

/** Asks and answers, and says under which id. */
async function exchange(store: MemoryStore, over: object, events: readonly TurnEvent[]): Promise<JsonObject> {
  const collector = (await parse(over, { store })).collect();
  collector.step([...events, DONE]);
  return collector.body();
}

const messagesOf = async (store: MemoryStore, over: object) => (await parse(over, { store })).turn.messages;

describe("an answer that is kept", () => {
  it("is gone on from with all that came before it, whichever way it was asked", async () => {
    const store = new MemoryStore();
    const first = await exchange(store, { input: "one", instructions: "only now" }, [
      { type: "thinking", text: "hm" },
      { type: "thinking-done", durationMs: 1, signature: "sig" },
      text("two"),
    ]);
    const call: TurnEvent = { type: "tool-call", id: "c1", name: "t", args: { a: 1 } };
    const asked = { input: [{ role: "user", content: "three" }], previous_response_id: first["id"] };
    const second = await exchange(store, asked, [call]);
    const turn = await messagesOf(store, {
      previous_response_id: second["id"],
      input: [{ type: "function_call_output", call_id: "c1", output: "four" }],
    });
    expect(turn).toEqual([
      { role: "user", content: [{ type: "text", text: "one" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "hm", signature: "sig" },
          { type: "text", text: "two" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "three" }] },
      { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "t", args: { a: 1 } }] },
      { role: "tool", callId: "c1", content: [{ type: "text", text: "four" }], isError: false },
    ]);
    const { turn: next } = await parse({ previous_response_id: first["id"] }, { store });
    expect(next.system).toBe("");
  });

  it("can be referred to item by item, and is kept again with whom refers to it", async () => {
    const store = new MemoryStore();
    const first = await exchange(store, { input: "one" }, [{ type: "thinking", text: "hm" }, text("two")]);
    const [reasoning, message] = first["output"] as readonly JsonObject[];
    const reference = (item: JsonObject | undefined) => ({ type: "item_reference", id: item?.["id"] });
    const input = [
      { role: "user", content: "one" },
      reference(reasoning),
      { id: message?.["id"] },
      { role: "user", content: "three" },
    ];
    expect((await messagesOf(store, { input }))[1]).toMatchObject({
      content: [
        { type: "thinking", text: "hm" },
        { type: "text", text: "two" },
      ],
    });
    const second = await exchange(store, { input }, [text("four")]);
    store.delete("p", String(first["id"]));
    const messages = await messagesOf(store, { previous_response_id: second["id"], input: "five" });
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(messages[1]?.content.at(-1)).toEqual({ type: "text", text: "two" });
  });

  it("is not kept where the client says so, or when it never came to its end", async () => {
    const store = new MemoryStore();
    await exchange(store, { store: false }, [text("a")]);
    (await parse({}, { store })).stream().step([text("a")]);
    expect(store.kept.size).toBe(0);
  });

  it("what is not there is the dialect's error; a thought that is not there is none", async () => {
    expect(await refusal({ previous_response_id: "resp_x" })).toMatchObject({
      kind: "invalid-request",
      code: "previous_response_not_found",
      field: "previous_response_id",
      message: 'Previous response with id "resp_x" not found.',
    });
    const reference = (id: string) => ({
      input: [
        { type: "item_reference", id },
        { role: "user", content: "a" },
      ],
    });
    expect(await refusal(reference("msg_x"))).toMatchObject({
      kind: "not-found",
      code: "item_not_found",
      field: "input[0]",
    });
    expect((await parse(reference("rs_x"))).turn.messages).toHaveLength(1);
  });

  it("what is wrong in its past is said of it", async () => {
    const store = new MemoryStore();
    const first = await exchange(store, { input: "one" }, [text("two")]);
    const result = { type: "function_call_output", call_id: "c", output: "x" };
    expect(await refusal({ previous_response_id: first["id"], input: [result] }, { store })).toMatchObject({
      field: "input[0].call_id",
    });
    const nothing = await refusal({ previous_response_id: first["id"], input: [] }, { store });
    expect(nothing.message).toMatch(/^previous_response_id: the last item/);
  });
});

describe("a reasoning item that comes back without its encrypted content", () => {
  const thinking: readonly TurnEvent[] = [
    { type: "thinking", text: "hm" },
    { type: "thinking-done", durationMs: 1, signature: "sig" },
    text("two"),
  ];
  const thoughtOf = async (thoughts: Thoughts, item: object) => {
    const input = [{ role: "user", content: "one" }, item, { role: "user", content: "three" }];
    const { turn } = await parse({ input }, { thoughts });
    return turn.messages[1]?.role === "assistant" ? turn.messages[1].content : undefined;
  };

  it("has its thought, by its id or its summary, in another process and with store: false", async () => {
    const state = await openStateDatabase(":memory:");
    const collector = (await parse({ store: false }, { thoughts: createThoughtStore(state) })).collect();
    collector.step([...thinking, DONE]);
    const [item] = collector.body()["output"] as readonly JsonObject[];
    const known = [{ type: "thinking", text: "hm", signature: "sig" }];
    const restarted = createThoughtStore(state);
    expect(await thoughtOf(restarted, { ...item })).toEqual(known);
    expect(await thoughtOf(restarted, { type: "reasoning", id: item?.["id"], summary: [] })).toEqual(known);
    expect(await thoughtOf(restarted, { type: "reasoning", summary: item?.["summary"] })).toEqual(known);
    const other = { type: "reasoning", id: "rs_other", summary: [{ type: "summary_text", text: "else" }] };
    expect(await thoughtOf(restarted, other)).toEqual([{ type: "thinking", text: "else", signature: undefined }]);
  });

  it("has a thought that was signed without a text", async () => {
    const thoughts = createThoughtStore(await openStateDatabase(":memory:"));
    const collector = (await parse({}, { thoughts })).collect();
    collector.step([{ type: "thinking-done", durationMs: 1, signature: "hidden" }, text("two"), DONE]);
    const [item] = collector.body()["output"] as readonly JsonObject[];
    expect(await thoughtOf(thoughts, { ...item })).toEqual([{ type: "thinking", text: "", signature: "hidden" }]);
  });
});

describe("the archive", () => {
  it("gives back what was given, its seals only where they are asked for, and its input in both orders", async () => {
    const store = new MemoryStore();
    const archive = createResponseArchive(store);
    const asked = {
      input: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
        { id: "msg_own", role: "user", content: [{ type: "input_text", text: "c" }] },
      ],
    };
    const made = await exchange(store, asked, [{ type: "thinking", text: "hm" }, text("two")]);
    const id = String(made["id"]);
    expect(await archive.get("p", id, false)).toEqual(made);
    const sealed = (await archive.get("p", id, true))["output"] as readonly JsonObject[];
    expect(sealed[0]).toMatchObject({ type: "reasoning", encrypted_content: expect.any(String) });
    const data = async (order: "asc" | "desc") =>
      (await archive.inputItems("p", id, order))["data"] as readonly JsonObject[];
    expect(await data("asc")).toMatchObject([
      { id: expect.stringMatching(/^msg_\w+_in0$/), type: "message", content: [{ type: "input_text", text: "a" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] },
      { id: "msg_own", content: [{ type: "input_text", text: "c" }] },
    ]);
    expect((await data("desc"))[0]?.["id"]).toBe("msg_own");
    expect(await archive.delete("p", id)).toEqual({ id, object: "response", deleted: true });
    for (const ask of [
      () => archive.get("p", id, false),
      () => archive.inputItems("p", id, "asc"),
      () => archive.delete("p", id),
    ]) {
      await expect(ask()).rejects.toThrow(expect.objectContaining({ kind: "not-found", code: "response_not_found" }));
    }
  });
});
