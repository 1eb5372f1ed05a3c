import { afterEach, describe, expect, it } from "vitest";
import type { InternalHandler } from "../../../src/cluster/internal/internal-listener.ts";
import { forwardTurn, NotForwarded } from "../../../src/cluster/turns/forward-turn.ts";
import { serveTurns } from "../../../src/cluster/turns/serve-turn.ts";
import { encodeTurn } from "../../../src/cluster/turns/turn-message.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import { aTurn, done, text } from "../../core/support/turns.ts";
import { openInternalHome } from "../support/internal-home.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const openHome = (turn: InternalHandler) => openInternalHome(turn, (cleanup) => cleanups.push(cleanup));

const context = { requestId: "r", signal: new AbortController().signal };

/** As a process that was stopped: the connection stays, and nothing comes. */
const freeze = () => new Promise<void>(() => {});

const SILENCE_MS = 50;

describe("a home node that falls silent", () => {
  it("before the first event: the turn can be answered elsewhere", async () => {
    const { client, home } = await openHome(freeze);
    const answer = forwardTurn(client, home, aTurn(), context, { silenceMs: SILENCE_MS });
    await expect(answer.next()).rejects.toBeInstanceOf(NotForwarded);
  });

  it("only counts while something is waited for: a slow client loses no answer", async () => {
    const released = Promise.withResolvers<void>();
    const { client, home } = await openHome(async (exchange) => {
      await exchange.send([{ type: "events", events: [text("some")] }]);
      await released.promise;
      await exchange.send([{ type: "events", events: [text(" more"), done()] }, { type: "over" }], true);
    });
    const answer = forwardTurn(client, home, aTurn(), context, { silenceMs: SILENCE_MS });
    expect((await answer.next()).value).toEqual([text("some")]);
    // Longer than a home node may be silent.
    await new Promise((resolve) => setTimeout(resolve, 4 * SILENCE_MS));
    released.resolve();
    expect((await answer.next()).value).toEqual([text(" more"), done()]);
    expect((await answer.next()).done).toBe(true);
  });

  it("after the first event: the answer ends with an error", async () => {
    const { client, home } = await openHome(async (exchange) => {
      await exchange.send([{ type: "events", events: [text("some")] }]);
      await freeze();
    });
    const answer = forwardTurn(client, home, aTurn(), context, { silenceMs: SILENCE_MS });
    expect((await answer.next()).value).toEqual([text("some")]);
    await expect(answer.next()).rejects.toMatchObject({ code: "cluster_connection_lost", retryable: false });
  });
});

it("a home node whose model is silent says that it is alive, until the answer is over", async () => {
  const released = Promise.withResolvers<void>();
  const run: Engine["run"] = async function* () {
    await released.promise;
    yield [text("late"), done()];
  };
  const watch = () => ({
    meter: { opens: () => expect.unreachable(), goesOn: () => {}, used: () => {} },
    observer: { phase: () => {} },
    end: () => {},
  });
  const engine = { run } as Partial<Engine> as Engine;
  const { client, home } = await openHome(
    serveTurns({ engine, watch, onServed: () => {}, tellLate: () => expect.unreachable(), aliveMs: 5 }),
  );
  const exchange = await client.open(home, "turn", {
    type: "turn",
    turn: encodeTurn(aTurn()),
    context: { requestId: "r", canAsk: false, wantsAnswer: false },
  });
  const heard: string[] = [];
  for await (const messages of exchange.messages()) {
    for (const { type } of messages as readonly { readonly type: string }[]) heard.push(type);
    if (heard.length >= 3) released.resolve();
    if (heard.at(-1) === "over") exchange.end();
  }
  expect(heard.slice(0, 3)).toEqual(["alive", "alive", "alive"]);
  expect(heard.filter((type) => type !== "alive")).toEqual(["events", "over"]);
});
