import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Run } from "../../../../src/core/driver.ts";
import { oneCallAtATime } from "../../../../src/core/engine/run/one-call-at-a-time.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { ToolMessage } from "../../../../src/core/turn.ts";
import { done, gather, text } from "../../support/turns.ts";

const call = (id: string): TurnEvent => ({ type: "tool-call", id, name: "look", args: {} });
const start = (id: string): TurnEvent => ({ type: "tool-call-start", id, name: "look" });
const result = (callId: string): ToolMessage => ({ role: "tool", callId, content: [], isError: false });

/** Answers with these lists of batches, one after each set of results. */
function fakeRun(...answers: (readonly (readonly TurnEvent[])[])[]) {
  const given: string[][] = [];
  let at = 0;
  const run: Run = {
    async *[Symbol.asyncIterator]() {
      yield* answers[at++] ?? [];
    },
    submitResults: (results) => {
      given.push(results.map(({ callId }) => callId));
      return true;
    },
    cancel: () => {},
  };
  return { run, given };
}

describe("one call at a time", () => {
  it("shows the first of a batch, the next with each result, and tells the upstream when all are there", async () => {
    const { run, given } = fakeRun(
      [[text("so"), start("a")], [start("b")], [call("b"), call("a"), call("c"), done("tool-calls")]],
      [[text("end"), done()]],
    );
    const serial = oneCallAtATime(run);
    expect(await gather(serial)).toEqual([text("so"), start("a"), call("a"), done("tool-calls")]);
    expect(serial.submitResults([result("a")], [])).toBe(true);
    expect(await gather(serial)).toEqual([call("b"), done("tool-calls")]);
    expect(serial.submitResults([result("b")], [])).toBe(true);
    expect(await gather(serial)).toEqual([call("c"), done("tool-calls")]);
    expect(given).toEqual([]);
    expect(serial.submitResults([result("c")], [])).toBe(true);
    expect(given).toEqual([["a", "b", "c"]]);
    expect(await gather(serial)).toEqual([text("end"), done()]);
  });

  it("asks for each call once and brings each result once, however many there are", async () => {
    const batches = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(batches, async (sizes) => {
        const ids = sizes.map((size, batch) => Array.from({ length: size }, (_, n) => `${batch}.${n}`));
        const { run, given } = fakeRun(...ids.map((of) => [[...of.map(call), done("tool-calls")]]), [[done()]]);
        const serial = oneCallAtATime(run);
        const asked: string[] = [];
        for (;;) {
          const calls = (await gather(serial)).flatMap((event) => (event.type === "tool-call" ? [event.id] : []));
          if (calls.length === 0) break;
          expect(calls).toHaveLength(1);
          asked.push(...calls);
          serial.submitResults(calls.map(result), []);
        }
        expect(asked).toEqual(ids.flat());
        expect(given).toEqual(ids);
      }),
    );
  });
});
