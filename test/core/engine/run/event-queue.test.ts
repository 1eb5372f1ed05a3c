import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { EventQueue } from "../../../../src/core/engine/run/event-queue.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import { gather, text } from "../../support/turns.ts";

function aQueue(highWater?: number) {
  const pressure: boolean[] = [];
  let left = 0;
  const queue = new EventQueue({
    onPressure: (isFull) => pressure.push(isFull),
    onLeave: () => left++,
    ...(highWater !== undefined && { highWater }),
  });
  return { queue, pressure, left: () => left };
}

/** Reads in the background, one list of events for each batch. */
function readAll(queue: EventQueue) {
  const batches: (readonly TurnEvent[])[] = [];
  const end = (async () => {
    for await (const batch of queue) batches.push(batch);
  })();
  return { batches, end };
}

describe("batches", () => {
  it("the events of one turn of the loop, together at its end", async () => {
    const { queue } = aQueue();
    const { batches, end } = readAll(queue);
    queue.push(text("1"));
    await Promise.resolve();
    queue.push(text("2"));
    await Promise.resolve();
    expect(batches).toEqual([]);
    await nextTurn();
    expect(batches).toEqual([[text("1"), text("2")]]);
    queue.push(text("3"));
    await nextTurn();
    expect(batches).toEqual([[text("1"), text("2")], [text("3")]]);
    queue.close();
    await end;
  });

  it("what came before the reader waits for it", async () => {
    const { queue } = aQueue();
    queue.push(text("1"));
    queue.push(text("2"));
    queue.close();
    const { batches, end } = readAll(queue);
    await end;
    expect(batches).toEqual([[text("1"), text("2")]]);
  });

  it("nothing is lost, doubled or moved, whenever it comes", async () => {
    const { queue } = aQueue();
    const all = gather(queue);
    const sent = Array.from({ length: 200 }, (_, index) => text(String(index)));
    for (const [index, event] of sent.entries()) {
      queue.push(event);
      if (index % 3 === 0) await Promise.resolve();
      if (index % 7 === 0) await nextTurn();
    }
    queue.close();
    expect(await all).toEqual(sent);
  });
});

describe("the end", () => {
  it("comes with the events of its turn", async () => {
    const { queue } = aQueue();
    const { batches, end } = readAll(queue);
    queue.push(text("1"));
    queue.close();
    await nextTurn();
    await end;
    expect(batches).toEqual([[text("1")]]);
  });

  it("an error comes after all that came before it, and only the first counts", async () => {
    const { queue } = aQueue();
    queue.push(text("1"));
    queue.fail(new Error("first"));
    queue.fail(new Error("second"));
    queue.push(text("2"));
    const { batches, end } = readAll(queue);
    await expect(end).rejects.toThrow("first");
    expect(batches).toEqual([[text("1")]]);
  });

  it("a queue that was closed may be read again once it is open again", async () => {
    const { queue } = aQueue();
    queue.close();
    expect(await gather(queue)).toEqual([]);
    queue.reopen();
    queue.push(text("1"));
    queue.close();
    expect(await gather(queue)).toEqual([text("1")]);
  });

  it("leaving the loop is told, once the end was reached it is not", async () => {
    const { queue, left } = aQueue();
    queue.push(text("1"));
    for await (const _ of queue) break;
    expect(left()).toBe(1);
    queue.close();
    await gather(queue);
    expect(left()).toBe(1);
  });
});

it("tells of pressure when much waits, and when it is gone", async () => {
  const { queue, pressure } = aQueue(1000);
  for (let count = 0; count < 7; count++) queue.push(text("x"));
  expect(pressure).toEqual([]);
  queue.push(text("long".repeat(25)));
  queue.push(text("more"));
  expect(pressure).toEqual([true]);
  queue.close();
  await gather(queue);
  expect(pressure).toEqual([true, false]);
});

it("the pressure stays while the reader is busy with what it was given", async () => {
  const { queue, pressure } = aQueue(1000);
  const reader = queue[Symbol.asyncIterator]();
  queue.push(text("long".repeat(250)));
  await reader.next();
  expect(pressure).toEqual([true]);
  const next = reader.next();
  expect(pressure).toEqual([true, false]);
  queue.close();
  await next;
});

it("a reader that leaves takes the pressure with it", async () => {
  const { queue, pressure } = aQueue(1000);
  queue.push(text("long".repeat(250)));
  for await (const _ of queue) break;
  expect(pressure).toEqual([true, false]);
});
