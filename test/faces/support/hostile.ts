import fc from "fast-check";
import { expect } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { historyKeys } from "../../../src/core/history/history-key.ts";
import { estimateInputTokens } from "../../../src/core/rules/usage-estimate.ts";
import type { Face, ParseContext, ParsedRequest } from "../../../src/faces/shared/face.ts";

const junk = fc.jsonValue({ maxDepth: 3 });

/** Mostly what it should be, now and then anything. */
export const or = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 40, arbitrary }, { weight: 1, arbitrary: junk });

export const key = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom("__proto__", "constructor", "prototype", "toString"),
);

/** An object with names that mean something to the language. */
export const hostile = fc.array(fc.tuple(key, junk), { maxLength: 4 }).map(ownEntries);

/** A body, and more in it that nobody knows. */
export const withMore = (body: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  body.chain((value) => hostile.map((more) => ownEntries([...Object.entries(more), ...Object.entries(value)])));

/** As JSON.parse makes it: `__proto__` is a key like any other. */
function ownEntries(entries: readonly (readonly [string, unknown])[]): object {
  const json = entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value ?? null)}`).join(",");
  return JSON.parse(`{${json}}`) as object;
}

/** Whatever is asked is a turn that others can work with, or a refusal that names its place; and no prototype changes. */
export async function expectSoundParsing(
  face: Face,
  context: ParseContext,
  body: fc.Arbitrary<object>,
  alsoExpect: (parsed: ParsedRequest) => void = () => {},
): Promise<void> {
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: body }, { weight: 1, arbitrary: junk }), async (given) => {
      const outcome = await face.parse(given, context).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(ExcursorError);
        expect(["invalid-request", "not-found"]).toContain((outcome as ExcursorError).kind);
        const isWhole = typeof given !== "object" || given === null || Array.isArray(given);
        if (!isWhole) expect((outcome as ExcursorError).field).toBeTypeOf("string");
        return;
      }
      accepted++;
      const parsed = outcome as ParsedRequest;
      const { turn } = parsed;
      expect(Object.getPrototypeOf(turn)).toBe(Object.prototype);
      if (!parsed.isUnasked) expect(["user", "tool"]).toContain(turn.messages.at(-1)?.role);
      historyKeys(turn.messages);
      expect(estimateInputTokens(turn)).toBeGreaterThanOrEqual(0);
      alsoExpect(parsed);
    }),
    { numRuns: 2000 },
  );
  expect(accepted, "the generator reaches what is accepted").toBeGreaterThan(100);
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
}
