import { describe, expect, test } from "vitest";
import { ExcursorError } from "../../../../src/core/errors.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { createCursorModels } from "../../../../src/drivers/cursor/models/cursor-models.ts";
import type { ModelListSource } from "../../../../src/drivers/cursor/models/model-lists.ts";
import { MODELS } from "../../../../src/sim/endpoints/models/sim-models.ts";
import { ALICE, flatList, NEVER, row, shown, simulatedLists } from "./support.ts";

const ROW = row({ name: "m", variants: [{ effort: "high" }, { effort: "low" }] });
const FLAT = flatList("m-high", "m-low");
const CHOICE = { id: "m", effort: undefined };
const failure = (kind: "upstream-unavailable" | "unsupported" | "unauthenticated") => new ExcursorError(kind, "No.");

/** Lists by hand: answers are whatever it is set to, and counted. */
function handSource() {
  const hand = { calls: 0, error: undefined as ExcursorError | undefined, flat: FLAT, rows: [ROW] };
  const source: ModelListSource = {
    async flat() {
      hand.calls++;
      if (hand.error) throw hand.error;
      return hand.flat;
    },
    async rows() {
      if (hand.error) throw hand.error;
      return hand.rows;
    },
  };
  return { hand, source };
}

describe("the list", () => {
  test("has a row a base model of the backend, with what can be asked of it", async () => {
    await using source = await simulatedLists();
    const list = await createCursorModels({ source }).list(ALICE, NEVER);
    expect(list.map(({ id }) => id)).toEqual(MODELS.map(({ id }) => (id === "default" ? "auto" : id)));
    expect(list[0]).toMatchObject({ id: "auto", displayName: "Auto", aliases: ["default"], efforts: [] });
    expect(list.find(({ id }) => id === "gpt-5.5")).toEqual({
      id: "gpt-5.5",
      displayName: "GPT-5.5",
      aliases: ["gpt"],
      contextTokens: 272_000,
      supportsImages: true,
      isThinking: true,
      efforts: ["none", "low", "medium", "high", "xhigh"],
    });
    expect(list.find(({ id }) => id === "grok-code-fast-1")).toMatchObject({ isThinking: false, efforts: [] });
  });

  test.each(["flat", "rows"] as const)("does without the list of %s", async (missing) => {
    await using lists = await simulatedLists();
    const source = { ...lists, [missing]: () => Promise.reject(failure("upstream-unavailable")) };
    const models = createCursorModels({ source });
    const list = await models.list(ALICE, NEVER);
    expect(list.map(({ id }) => id)).toEqual(MODELS.map(({ id }) => (id === "default" ? "auto" : id)));
    expect(list.find(({ id }) => id === "claude-opus-4-8")?.displayName).toBe("Claude Opus 4.8");
    const { encodings } = await models.resolve({ id: "claude-opus-4-8-thinking-low", effort: undefined }, ALICE);
    expect(encodings.map((encoding) => encoding && shown(encoding))).toEqual([
      missing === "flat" ? "claude-opus-4-8[thinking=true,effort=low,fast=false]" : "claude-opus-4-8-thinking-low",
    ]);
  });

  test("fails as the backend did if there is neither", async () => {
    const { hand, source } = handSource();
    hand.error = failure("unauthenticated");
    const models = createCursorModels({ source });
    await expect(models.list(ALICE, NEVER)).rejects.toBe(hand.error);
    await expect(models.resolve(CHOICE, ALICE)).rejects.toBe(hand.error);
  });

  test("of a backend without lists lets every name through", async () => {
    const { hand, source } = handSource();
    hand.error = failure("unsupported");
    const models = createCursorModels({ source });
    expect(await models.list(ALICE, NEVER)).toEqual([]);
    expect(await models.resolve({ id: "auto", effort: "high" }, ALICE)).toMatchObject({
      displayId: "auto",
      encodings: [{ modelId: "default", parameters: [], maxMode: false }],
    });
  });
});

describe("the cache", () => {
  test("asks once for all who wait, and again when the time is over", async () => {
    const { hand, source } = handSource();
    let now = 0;
    const models = createCursorModels({ source, ttlMs: 1000, now: () => now });
    await Promise.all([models.list(ALICE, NEVER), models.resolve(CHOICE, ALICE), models.list(ALICE, NEVER)]);
    now = 999;
    await models.list(ALICE, NEVER);
    expect(hand.calls).toBe(1);
    now = 1000;
    await models.list(ALICE, NEVER);
    expect(hand.calls).toBe(2);
  });

  test("keeps accounts apart, and an account through a new token", async () => {
    const { hand, source } = handSource();
    const models = createCursorModels({ source });
    await models.list(ALICE, NEVER);
    await models.list({ id: "bob", token: ALICE.token }, NEVER);
    expect(hand.calls).toBe(2);
    await models.list({ id: "alice", token: new Secret("renewed") }, NEVER);
    expect(hand.calls).toBe(2);
  });

  test("an old list is better than none, except to one who is refused", async () => {
    const { hand, source } = handSource();
    let now = 0;
    const models = createCursorModels({ source, ttlMs: 1000, now: () => now });
    await models.list(ALICE, NEVER);
    now = 9000;
    hand.error = failure("upstream-unavailable");
    expect(await models.list(ALICE, NEVER)).toHaveLength(1);
    const calls = hand.calls;
    expect(await models.resolve(CHOICE, ALICE)).toMatchObject({ baseId: "m" });
    expect(hand.calls).toBe(calls);
    hand.error = failure("unauthenticated");
    await expect(models.list(ALICE, NEVER)).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  test("nobody waits for a renewal to use a model that is known", async () => {
    const { source } = handSource();
    let now = 0;
    let isStuck = false;
    const slow: ModelListSource = { ...source, rows: (who) => (isStuck ? new Promise(() => {}) : source.rows(who)) };
    const models = createCursorModels({ source: slow, ttlMs: 1000, now: () => now });
    await models.list(ALICE, NEVER);
    [now, isStuck] = [5000, true];
    expect(await models.resolve(CHOICE, ALICE)).toMatchObject({ baseId: "m" });
  });

  test("a name that is not there is looked for anew, but not each time", async () => {
    const { hand, source } = handSource();
    let now = 0;
    const models = createCursorModels({ source, now: () => now });
    await models.list(ALICE, NEVER);
    now = 60_000;
    hand.rows = [ROW, row({ name: "brand-new" })];
    expect(await models.resolve({ id: "brand-new", effort: undefined }, ALICE)).toMatchObject({
      baseId: "brand-new",
    });
    for (const id of ["x", "y", "z"]) {
      await expect(models.resolve({ id, effort: undefined }, ALICE)).rejects.toThrow(ExcursorError);
    }
    expect(hand.calls).toBe(2);
  });

  test("one who gives up waits no longer, and takes nothing from the others", async () => {
    const { source } = handSource();
    const gate = Promise.withResolvers<void>();
    const models = createCursorModels({
      source: { ...source, rows: (who) => gate.promise.then(() => source.rows(who)) },
    });
    const abort = new AbortController();
    const gone = models.list(ALICE, abort.signal);
    const staying = models.list(ALICE, NEVER);
    abort.abort();
    await expect(gone).rejects.toMatchObject({ kind: "canceled" });
    gate.resolve();
    expect(await staying).toHaveLength(1);
    await expect(models.list(ALICE, abort.signal)).rejects.toMatchObject({ kind: "canceled" });
  });
});

describe("the encoding that worked", () => {
  test("comes first from then on, after a restart too", async () => {
    const { source } = handSource();
    const memory = new Map<string, string>();
    const first = async (models = createCursorModels({ source, memory })) =>
      (await models.resolve(CHOICE, ALICE)).encodings.map((encoding) => encoding?.kind);
    const models = createCursorModels({ source, memory });
    expect(await first(models)).toEqual(["variant", "parameters"]);
    models.remember("m", "parameters");
    expect(await first(models)).toEqual(["parameters", "variant"]);
    expect(await first()).toEqual(["parameters", "variant"]);
    models.remember("m", "variant");
    expect(await first()).toEqual(["variant", "parameters"]);
    memory.set("m", "nonsense");
    expect(await first()).toEqual(["variant", "parameters"]);
  });
});
