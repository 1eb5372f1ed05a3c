import fc from "fast-check";
import type { DoneReason, TurnEvent } from "../../../src/core/events.ts";
import type { JsonObject } from "../../../src/core/turn.ts";

const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });

/** What happens in an answer besides tool calls. */
const plain = fc.oneof(
  anyText.map((text): TurnEvent[] => [{ type: "text", text }]),
  anyText.map((text): TurnEvent[] => [
    { type: "thinking", text },
    { type: "thinking-done", durationMs: 1 },
  ]),
  anyText.map((text): TurnEvent[] => [{ type: "notice", code: "x", text }]),
);

const args = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

/** One call: whole, or begun first, or streamed in pieces cut anywhere. */
const call = fc
  .record({ name: anyText, args, style: fc.constantFrom("whole", "begun", "streamed"), cut: fc.array(fc.nat(20)) })
  .map(({ name, args: given, style, cut }) => ({ name, args: given as JsonObject, style, cut }));

/** Any sequence of events that a driver can emit, up to its `done`. */
export const driverEvents: fc.Arbitrary<TurnEvent[]> = fc
  .record({
    items: fc.array(fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: call }), { maxLength: 12 }),
    reason: fc.constantFrom<DoneReason>("stop", "length", "tool-calls", "content-filter"),
    usage: fc.record({
      inputTokens: fc.nat(),
      outputTokens: fc.nat(),
      cachedTokens: fc.nat(),
      cacheWrittenTokens: fc.nat(),
      reasoningTokens: fc.nat(),
      isEstimate: fc.boolean(),
    }),
  })
  .map(({ items, reason, usage }) => [
    ...items.flatMap((item, index) => (Array.isArray(item) ? item : callEvents(`call_${index}`, item))),
    { type: "usage", usage },
    { type: "done", reason },
  ]);

interface Call {
  readonly name: string;
  readonly args: JsonObject;
  readonly style: string;
  readonly cut: readonly number[];
}

function callEvents(id: string, { name, args: given, style, cut }: Call): TurnEvent[] {
  const whole: TurnEvent = { type: "tool-call", id, name, args: given };
  if (style === "whole") return [whole];
  const start: TurnEvent = { type: "tool-call-start", id, name };
  if (style === "begun") return [start, whole];
  const json = JSON.stringify(given);
  const pieces = cutInto(json, cut).map((piece): TurnEvent => ({ type: "tool-call-delta", id, json: piece }));
  return [start, ...pieces, whole];
}

/** A list or a text in pieces, cut at these places. */
export function cutInto<T extends string | readonly unknown[]>(whole: T, at: readonly number[]): T[] {
  const places = [...new Set([...at.filter((place) => place > 0 && place < whole.length), whole.length])];
  return places.sort((a, b) => a - b).map((place, index, all) => whole.slice(all[index - 1] ?? 0, place) as T);
}
