import { describe, expect, it } from "vitest";
import { createHub, type HubOptions } from "../../src/tools/hub.ts";
import { cleanUp, context, scripted, textOf } from "./support/stage.ts";

function openHub(options: Partial<HubOptions> = {}) {
  const troubles: string[] = [];
  const hub = createHub({
    servers: [
      scripted({}, { name: "one" }),
      scripted({}, { name: "two" }),
      scripted({}, { name: "gone", command: "no-such-program" }),
    ],
    environment: process.env,
    onTrouble: (server, { message }) => troubles.push(`${server}: ${message}`),
    ...options,
  });
  cleanUp(() => hub.close());
  return { hub, troubles };
}

const OWNER = { id: "owner", token: undefined };
const principal = (id: string) => ({ id, token: undefined });

describe("the hub", () => {
  it("has the tools of all servers; one that is broken costs the others nothing", async () => {
    const { hub, troubles } = openHub();
    const box = await hub.open(OWNER, context.signal);
    expect(box.tools).toHaveLength(26);
    expect(box.tools[0]).toEqual({ name: "one__ask", description: "does ask", schema: { type: "object" } });
    expect(textOf(await box.call("two__echo", { a: 1 }, context))).toBe('{"a":1}');
    expect(troubles).toEqual([expect.stringContaining('gone: The MCP server "gone": command')]);
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
      content: [{ type: "text", text: 'There is no tool "one__nope" here.' }],
      isError: true,
    });
    const abort = new AbortController();
    const call = box.call("two__never", {}, { signal: abort.signal });
    abort.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
  });

  it("shows each key what it may use, and strangers nothing", async () => {
    const keys = { laptop: ["one/echo", "two/e*"], "*": ["one/fail"] };
    const { hub } = openHub({ keys, keyName: (id) => (id === "key_1" ? "laptop" : undefined) });
    const names = async (id: string) => (await hub.open(principal(id), context.signal)).tools.map(({ name }) => name);
    expect(await names("key_1")).toEqual(["one__echo", "two__echo", "two__environment", "two__exit"]);
    expect(await names("token_x")).toEqual(["one__fail"]);
    const closed = openHub().hub;
    expect((await closed.open(principal("token_x"), context.signal)).tools).toEqual([]);
    const box = await hub.open(principal("key_1"), context.signal);
    expect(await box.call("one__fail", {}, context)).toMatchObject({
      content: [{ text: 'There is no tool "one__fail" here.' }],
    });
  });

  it("lets a model search where there are too many tools", async () => {
    const { hub } = openHub({ searchAbove: 5 });
    const box = await hub.open(OWNER, context.signal);
    expect(box.tools.map(({ name }) => name)).toEqual(["hub_search", "hub_call"]);
    const found = JSON.parse(textOf(await box.call("hub_search", { query: "echo of two", limit: 1 }, context)));
    expect(found).toEqual([{ name: "two__echo", description: "does echo", inputSchema: { type: "object" } }]);
    expect(textOf(await box.call("hub_search", { query: "zebra" }, context))).toContain(
      "No tool fits these words. There are 26",
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
    expect((await hub.open(OWNER, context.signal)).tools.length).toBeLessThan(26);
  });

  it("leaves out what is switched off", () => {
    const { hub } = openHub({ servers: [scripted({}, { isDisabled: true })] });
    expect(hub.connections).toEqual([]);
  });
});
