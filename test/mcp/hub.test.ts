import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createHub, type HubOptions } from "../../src/mcp/hub.ts";
import { HUB_LIMITS } from "../../src/mcp/limits.ts";
import { checkTools, pinTools } from "../../src/mcp/tools/tool-pins.ts";
import { context, scripted, textOf } from "./support/stage.ts";

function openHub(options: Partial<HubOptions> = {}) {
  const troubles: string[] = [];
  const hub = createHub({
    servers: [
      scripted({}, { name: "one" }),
      scripted({}, { name: "two" }),
      scripted({}, { name: "gone", command: "no-such-program" }),
    ],
    environment: process.env,
    // Most tests want the tools of servers that are started by the first turn.
    patienceMs: 10_000,
    onTrouble: (server, { message }) => troubles.push(`${server}: ${message}`),
    ...options,
  });
  onTestFinished(() => hub.close());
  return { hub, troubles };
}

const OWNER = { id: "owner", token: undefined };
const principal = (id: string) => ({ id, token: undefined });

describe("the hub", () => {
  it("has the tools of all servers; one that is broken costs the others nothing", async () => {
    const { hub, troubles } = openHub();
    const box = await hub.open(OWNER, context.signal);
    expect(box.tools).toHaveLength(28);
    expect(box.tools[0]).toEqual({ name: "one__ask", description: "does ask", schema: { type: "object" } });
    expect(textOf(await box.call("two__echo", { a: 1 }, context))).toBe('{"a":1}');
    expect(troubles).toEqual([expect.stringContaining('gone: The MCP server "gone": command')]);
  });

  it("tells how many servers are in which state, over all keys, and the calls under way", async () => {
    const { hub } = openHub({ keys: { alice: ["one"] }, keyName: (id) => id });
    expect(hub.stats()).toEqual({ servers: new Map([["idle", 3]]), calls: 0 });
    const box = await hub.open(OWNER, context.signal);
    await hub.open(principal("alice"), context.signal);
    const abort = new AbortController();
    const call = box.call("two__never", {}, { signal: abort.signal });
    expect(hub.stats()).toEqual({
      servers: new Map([
        ["ready", 3],
        ["waiting", 1],
      ]),
      calls: 1,
    });
    abort.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(hub.stats().calls).toBe(0);
  });

  it("what goes wrong is a result", async () => {
    const { hub } = openHub();
    const box = await hub.open(OWNER, context.signal);
    expect(await box.call("one__fail", {}, context)).toEqual({
      content: [{ type: "text", text: "it went wrong" }],
      isError: true,
    });
    expect(await box.call("one__exit", {}, context)).toMatchObject({ isError: true });
    expect(await box.call("one__nope", {}, context)).toEqual({
      content: [{ type: "text", text: 'The tool "one__nope" does not exist.' }],
      isError: true,
    });
    const abort = new AbortController();
    const call = box.call("two__never", {}, { signal: abort.signal });
    abort.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
  });

  it("shows each key what it may use, and strangers nothing", async () => {
    const keys = { laptop: ["one/echo", "two/e*"], "*": ["one/fail"] };
    const known: Readonly<Record<string, string>> = { key_1: "laptop", key_2: "phone", key_3: "constructor" };
    const { hub } = openHub({ keys, keyName: (id) => known[id] });
    const names = async (id: string) => (await hub.open(principal(id), context.signal)).tools.map(({ name }) => name);
    expect(await names("key_1")).toEqual(["one__echo", "two__echo", "two__environment", "two__exit"]);
    expect(await names("key_2")).toEqual(["one__fail"]);
    expect(await names("key_3")).toEqual(["one__fail"]);
    // Nobody has looked yet whether such a token is any good.
    expect(await names("token_x")).toEqual([]);
    const closed = openHub().hub;
    expect((await closed.open(principal("token_x"), context.signal)).tools).toEqual([]);
    const box = await hub.open(principal("key_1"), context.signal);
    expect(await box.call("one__fail", {}, context)).toMatchObject({
      content: [{ text: 'The tool "one__fail" does not exist.' }],
    });
  });

  it("lets a model search where there are too many tools", async () => {
    const { hub } = openHub({ searchAbove: 5 });
    const box = await hub.open(OWNER, context.signal);
    expect(box.tools.map(({ name }) => name)).toEqual(["hub_search", "hub_call"]);
    const found = JSON.parse(textOf(await box.call("hub_search", { query: "echo of two", limit: 1 }, context)));
    expect(found).toEqual([{ name: "two__echo", description: "does echo", inputSchema: { type: "object" } }]);
    expect(textOf(await box.call("hub_search", { query: "zebra" }, context))).toContain(
      "No tool fits these words. There are 28",
    );
    expect(textOf(await box.call("hub_search", {}, context))).toContain("No tool fits");
    expect(textOf(await box.call("hub_call", { name: "one__echo", arguments: { b: 2 } }, context))).toBe('{"b":2}');
    for (const args of [{}, { name: 1 }, { name: "one__echo", arguments: "x" }, { name: "nope" }]) {
      expect(await box.call("hub_call", args as never, context)).toMatchObject({ isError: true });
    }
    expect(await box.call("one__echo", {}, context)).toMatchObject({ isError: true });
  });

  it("does not wait for a server that takes too long", async () => {
    const servers = [scripted({}, { name: "one" }), scripted({ never: "initialize" }, { name: "slow" })];
    const { hub } = openHub({ servers, patienceMs: 3000 });
    expect((await hub.open(OWNER, context.signal)).tools.length).toBeLessThan(28);
  });

  it("holds back tools that were changed, in the middle of a conversation too, until they are approved (SEC-41)", async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-pins-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const tools = ["echo", "turn"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
    const servers = [scripted({ tools }, { name: "one" })];
    const { hub } = openHub({ servers, screen: (server, listed) => checkTools(home, server, listed).held });
    const box = await hub.open(OWNER, context.signal);
    const changed = new Promise<void>((resolve) => hub.onTools(() => resolve()));
    expect(textOf(await box.call("one__turn", {}, context))).toBe("turned");
    await changed;
    expect(textOf(await box.call("one__echo", {}, context))).toContain("may have changed its tool");
    expect((await hub.open(OWNER, context.signal)).tools).toEqual([]);
    const [connection] = hub.connections;
    expect(connection?.problems).toEqual([expect.stringContaining("approved: echo, turn. They are not offered")]);
    pinTools(home, "one", connection?.held.filter(({ name }) => name === "echo") ?? []);
    hub.review();
    const again = await hub.open(OWNER, context.signal);
    expect(again.tools.map(({ name }) => name)).toEqual(["one__echo"]);
    expect(textOf(await again.call("one__echo", { a: 1 }, context))).toBe('{"a":1}');
  });

  it.each(["initialize", "tools/list"])("a server that never answers %s delays no turn", async (never) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const servers = [scripted({ never }, { name: "slow" })];
    const notes: string[] = [];
    const { hub } = openHub({
      servers,
      keys: { "*": ["*"] },
      patienceMs: undefined,
      onNote: (_, text) => notes.push(text),
    });
    const first = hub.open(OWNER, context.signal);
    await vi.advanceTimersByTimeAsync(250);
    expect((await first).tools).toEqual([]);
    const later = hub.open(OWNER, context.signal);
    await vi.advanceTimersByTimeAsync(0);
    expect((await later).tools).toEqual([]);
    expect(hub.connections.map(({ state }) => state)).toEqual(["connecting"]);
    expect(notes).toEqual(['A turn started without the tools of the MCP server "slow", which is still starting.']);
  });

  it("gives the model what a result links to, within limits", async () => {
    const tools = [{ name: "link", inputSchema: { type: "object" } }];
    const resources = { "x://a": "first", "x://b": 300 * 1024, "x://c": "third" };
    const servers = [
      scripted({ tools, resources }, { name: "one" }),
      scripted({ tools }, { name: "none" }),
      scripted({ tools, resources: {} }, { name: "gone" }),
    ];
    const box = await openHub({ servers }).hub.open(OWNER, context.signal);
    const read = async (name: string) => {
      const { content } = await box.call(name, {}, context);
      return content.map((part) => (part.type === "text" ? part.text : ""));
    };
    const texts = await read("one__link");
    expect(texts.slice(0, 3)).toEqual(["[x://a: x://a]", "first", "[x://b: x://b]"]);
    expect(texts[3]?.length).toBeLessThan(257 * 1024);
    expect(texts[3]).toMatch(/y\n\[cut off here\]$/);
    expect(await read("none__link")).toEqual(["[x://gone: x://gone]"]);
    expect(await read("gone__link")).toEqual(["[x://gone: x://gone]", expect.stringContaining("could not be read")]);
  });

  it("leaves out tools that the settings disable", async () => {
    const { hub } = openHub({ servers: [scripted({}, { name: "one", disabledTools: ["exit", "crash"] })] });
    const names = (await hub.open(OWNER, context.signal)).tools.map(({ name }) => name);
    expect(names).toHaveLength(12);
    expect(names).not.toContain("one__exit");
  });

  it("leaves out what is switched off", () => {
    const { hub } = openHub({ servers: [scripted({}, { isDisabled: true })] });
    expect(hub.connections).toEqual([]);
  });
});

describe("keys that use the same servers (SEC-30)", () => {
  const servers = [scripted({}, { name: "one" })];
  const keys = { "*": ["one"] };
  const remember = async (hub: ReturnType<typeof createHub>, id: string, canary: string) => {
    const box = await hub.open(principal(id), context.signal);
    return textOf(await box.call("one__remember", { canary }, context));
  };

  it("never see what a server remembers of another", async () => {
    const { hub } = openHub({ servers, keys });
    const ids = ["owner", "key_1", "key_2", "token_x"];
    for (const round of [1, 2, 3]) {
      const said = await Promise.all(ids.map((id) => remember(hub, id, `canary-${id}-${round}`)));
      for (const [index, id] of ids.entries()) {
        const canaries = said[index]?.match(/canary-\w+-\d/g);
        expect(canaries).toEqual(Array.from({ length: round }, (_, n) => `canary-${id}-${n + 1}`));
      }
    }
  });

  it("are so many at once; the one that waited longest makes room, and nobody in the middle of a call", async () => {
    const { hub } = openHub({ servers, keys, limits: { ...HUB_LIMITS, principals: 1 } });
    const [first] = JSON.parse(await remember(hub, "key_1", "a"));
    await remember(hub, "key_2", "b");
    const [again, ...said] = JSON.parse(await remember(hub, "key_1", "c"));
    expect([again === first, said]).toEqual([false, ['{"canary":"c"}']]);

    const abort = new AbortController();
    const box = await hub.open(principal("key_1"), context.signal);
    const call = expect(box.call("one__never", {}, { signal: abort.signal })).rejects.toThrow();
    await expect(hub.open(principal("key_2"), context.signal)).rejects.toMatchObject({ code: "mcp_too_many_keys" });
    abort.abort();
    await call;
    expect(await remember(hub, "key_2", "d")).toContain("d");
  });

  it("nor does one make room that waits for its servers", async () => {
    const { hub } = openHub({
      servers: [scripted({ never: "initialize" }, { name: "one" })],
      keys,
      limits: { ...HUB_LIMITS, principals: 1 },
      patienceMs: 500,
    });
    const first = hub.open(principal("key_1"), context.signal);
    await expect(hub.open(principal("key_2"), context.signal)).rejects.toMatchObject({ code: "mcp_too_many_keys" });
    await first;
    await hub.open(principal("key_2"), context.signal);
  });

  it("that are silent have nothing running, and find their tools again", async () => {
    const { hub } = openHub({ servers, keys, limits: { ...HUB_LIMITS, idleMs: 20 } });
    const box = await hub.open(principal("key_1"), context.signal);
    const pidOf = async () => JSON.parse(textOf(await box.call("one__remember", {}, context)))[0] as number;
    const first = await pidOf();
    await vi.waitFor(() => expect(() => process.kill(first, 0)).toThrow(), 10_000);
    expect(await pidOf()).not.toBe(first);
  });

  it("that come back have what failed tried again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "excursor-hub-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { args } = scripted();
    const late = join(folder, "late.ts");
    const { hub, troubles } = openHub({
      servers: [scripted({}, { name: "one", args: [late, "{}"] })],
      keys,
      limits: { ...HUB_LIMITS, idleMs: 20, backOffMs: 60_000 },
    });
    const tools = async () => (await hub.open(principal("key_1"), context.signal)).tools.length;
    expect([await tools(), troubles.length]).toEqual([0, 1]);
    writeFileSync(late, `import ${JSON.stringify(pathToFileURL(args[0] as string).href)};`);
    await vi.waitFor(async () => expect(await tools()).toBeGreaterThan(0), 20_000);
  });
});

describe("a hub whose settings change", () => {
  const pids = async (hub: ReturnType<typeof createHub>, ...names: string[]) => {
    const box = await hub.open(OWNER, context.signal);
    return Promise.all(
      names.map(async (name) => JSON.parse(textOf(await box.call(`${name}__remember`, {}, context)))[0] as number),
    );
  };

  it("starts what is new, ends what is gone, and leaves alone what is the same", async () => {
    const same = scripted({}, { name: "same" });
    const first = [same, scripted({}, { name: "changed" }), scripted({}, { name: "gone" })];
    const { hub } = openHub({ servers: first, searchAbove: 100 });
    const before = await pids(hub, "same", "changed", "gone");
    const servers = [{ ...same }, scripted({ x: 1 }, { name: "changed" }), scripted({}, { name: "added" })];
    hub.follow({ servers, keys: {} });
    const after = await pids(hub, "same", "changed", "added");
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
    expect(hub.connections.map(({ name }) => name)).toEqual(["same", "changed", "added"]);
    await vi.waitFor(() => {
      for (const pid of before.slice(1)) expect(() => process.kill(pid as number, 0)).toThrow();
    }, 10_000);
  });

  it("lets a call that is under way come to its end", async () => {
    const { hub } = openHub({ servers: [scripted({}, { name: "one" })] });
    const box = await hub.open(OWNER, context.signal);
    const call = box.call("one__slow", {}, context);
    hub.follow({ servers: [], keys: {} });
    expect(textOf(await call)).toBe("done");
    expect(await box.call("one__echo", {}, context)).toMatchObject({
      isError: true,
      content: [{ text: 'The MCP server "one" was stopped.' }],
    });
  });

  it("follows what keys may use", async () => {
    const servers = [scripted({}, { name: "one" }), scripted({}, { name: "two" })];
    const { hub } = openHub({ servers, keys: { "*": ["one/echo"] } });
    const names = async () => (await hub.open(principal("key_1"), context.signal)).tools.map(({ name }) => name);
    expect(await names()).toEqual(["one__echo"]);
    hub.follow({ servers, keys: { "*": ["two/echo"] } });
    expect(await names()).toEqual(["two__echo"]);
    hub.follow({ servers, keys: {} });
    expect(await names()).toEqual([]);
  });
});
