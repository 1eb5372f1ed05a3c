import { describe, expect, it } from "vitest";
import type { RedisClient, RedisLink } from "../../../src/cluster/redis/redis-link.ts";
import { WriteBehind } from "../../../src/cluster/redis/write-behind.ts";

/** A link that is up or down as the test says. */
function setUp() {
  const listeners = new Set<(isUp: boolean) => void>();
  const state = { isUp: true, isLate: false };
  const link: RedisLink = {
    get isUp() {
      return state.isUp;
    },
    failures: 0,
    backForMs: Number.POSITIVE_INFINITY,
    async ask(work, fallback) {
      if (!state.isUp) return fallback("away");
      const result = await work({} as RedisClient);
      return state.isLate ? fallback("late") : result;
    },
    tell: () => {},
    onNews: () => {},
    reportDamaged: () => {},
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    key: (...parts) => parts.join(":"),
    close: () => {},
  };
  const writes = new WriteBehind(link);
  const made: string[] = [];
  const add = (name: string, bytes = 1) => writes.add({ bytes, write: async () => void made.push(name) });
  const come = () => {
    state.isUp = true;
    for (const listener of listeners) listener(true);
  };
  return { state, writes, made, add, come };
}

describe("writes in the background", () => {
  it("are made in order, and each resolves when it is made", async () => {
    const { made, add } = setUp();
    const [a, b] = [add("a"), add("b")];
    expect(made).toEqual([]);
    await Promise.all([a, b]);
    expect(made).toEqual(["a", "b"]);
  });

  it("wait while Redis is away, and are made when it is back (REL-45)", async () => {
    const { state, writes, made, add, come } = setUp();
    state.isUp = false;
    add("a");
    add("b");
    await writes.settled();
    expect(made).toEqual([]);
    come();
    await writes.settled();
    expect(made).toEqual(["a", "b"]);
  });

  it("whose reply was late are made again, also if Redis stays up, but not for ever", async () => {
    const { state, writes, made, add } = setUp();
    state.isLate = true;
    add("a");
    void writes.add({
      bytes: 1,
      write: async () => {
        state.isLate = made.length < 2;
      },
    });
    await writes.settled();
    expect(made).toEqual(["a", "a"]);
    state.isLate = true;
    await add("b");
    expect(made.filter((name) => name === "b")).toHaveLength(5);
  });

  it("that wait are bounded: the oldest are dropped, by number and by size (SEC-36)", async () => {
    const { state, writes, made, add, come } = setUp();
    state.isUp = false;
    for (let at = 0; at < 10_005; at++) add(String(at));
    come();
    await expect.poll(() => [made.length, made[0]]).toEqual([10_000, "5"]);
    state.isUp = false;
    add("small");
    add("large", 64 * 1024 * 1024);
    come();
    await writes.settled();
    expect(made.slice(10_000)).toEqual(["large"]);
  });
});
