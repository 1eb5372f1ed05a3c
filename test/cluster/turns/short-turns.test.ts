import { afterEach, describe, expect, it } from "vitest";
import { forwardTurn } from "../../../src/cluster/turns/forward-turn.ts";
import { serveTurns } from "../../../src/cluster/turns/serve-turn.ts";
import { decodeEvents, encodeEvents, shortenTurn } from "../../../src/cluster/turns/turn-message.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import { callIdOf, newRunId } from "../../../src/core/engine/run/call-names.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { historyKeys } from "../../../src/core/history/history-key.ts";
import type { Message, Turn } from "../../../src/core/turn.ts";
import { aTurn, done, text, thinking, usage } from "../../core/support/turns.ts";
import { openInternalHome, TAG } from "../support/internal-home.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const RUN_ID = newRunId(TAG);

const question: Message = {
  role: "user",
  content: [
    { type: "text", text: "look" },
    { type: "image", mediaType: "image/png", data: Buffer.from("pixels") },
  ],
};
const call: Message = {
  role: "assistant",
  content: [{ type: "tool-call", id: callIdOf(RUN_ID, 0), name: "look", args: {} }],
};
const result: Message = {
  role: "tool",
  callId: callIdOf(RUN_ID, 0),
  content: [{ type: "text", text: "seen" }],
  isError: false,
};
const followUp = aTurn({ messages: [question, call, result] });

/** A home node whose engine knows this conversation, or none. Returns the turns that its engine runs, and what it is asked for. */
async function openHome(known: readonly Message[] | undefined) {
  const turns: Turn[] = [];
  const asked: (readonly string[])[] = [];
  const engine: Partial<Engine> = {
    transcriptOf(...given) {
      asked.push(given);
      return known;
    },
    async *run(turn) {
      turns.push(turn);
      yield [text("seen"), done()];
    },
  };
  const watch = () => ({
    meter: { opens: () => expect.unreachable(), goesOn: () => {}, used: () => {} },
    observer: { phase: () => {} },
    end: () => {},
  });
  const tellLate = () => expect.unreachable();
  const turn = serveTurns({ engine: engine as Engine, watch, onServed: () => {}, tellLate });
  const { client, home } = await openInternalHome(turn, (cleanup) => cleanups.push(cleanup));
  const forward = (sent: Turn) =>
    Array.fromAsync(forwardTurn(client, home, sent, { requestId: "r", signal: new AbortController().signal }));
  return { turns, asked, forward };
}

describe("a follow-up that is forwarded", () => {
  it("carries only its results, and the home node has the conversation", async () => {
    const { turn, after } = shortenTurn(followUp);
    expect(turn.messages).toEqual([result]);
    expect(after).toEqual({ runId: RUN_ID, historyKey: historyKeys([question, call]).at(-1) });
    const known = [question, call];
    const { turns, asked, forward } = await openHome(known);
    expect((await forward(followUp)).flat()).toEqual([text("seen"), done()]);
    expect(asked).toEqual([[RUN_ID, "p", after?.historyKey]]);
    expect(turns.map(({ messages }) => messages)).toEqual([[question, call, result]]);
    expect(turns[0]?.messages[0]).toBe(question);
  });

  it("carries the conversation, too, if the home node does not have it", async () => {
    const { turns, forward } = await openHome(undefined);
    for (let time = 0; time < 2; time++) {
      expect((await forward(followUp)).flat()).toEqual([text("seen"), done()]);
    }
    expect(turns.map(({ messages }) => messages)).toEqual([followUp.messages, followUp.messages]);
  });

  it("carries it at once if it has no results", async () => {
    const { turns, asked, forward } = await openHome(undefined);
    await forward(aTurn({ messages: [question] }));
    expect(asked).toEqual([]);
    expect(turns[0]?.messages).toEqual([question]);
  });
});

it("pieces of an answer that travel together arrive as they were", () => {
  const events: readonly TurnEvent[] = [
    thinking("a"),
    thinking("b"),
    { type: "thinking-done", durationMs: 1 },
    text("c"),
    text(""),
    text("d"),
    thinking("e"),
    usage(),
    done(),
  ];
  const encoded = encodeEvents(events);
  expect(encoded.map(({ type }) => type)).toEqual([
    "thinkings",
    "thinking-done",
    "texts",
    "thinkings",
    "usage",
    "done",
  ]);
  expect(decodeEvents(JSON.parse(JSON.stringify(encoded)))).toEqual(events);
});
