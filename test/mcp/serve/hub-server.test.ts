import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import type { HubCallEntry } from "../../../src/core/engine/call-log.ts";
import type { Elicit } from "../../../src/core/hub/tool-hub.ts";
import { PausedCalls } from "../../../src/mcp/connection/paused-calls.ts";
import type { Hub } from "../../../src/mcp/hub.ts";
import { createHubServer } from "../../../src/mcp/serve/hub-server.ts";

/** A hub with one tool, which asks for a number and gives back what it got. */
const connection = {
  name: "srv",
  async call(_name: string, _args: object, { elicit }: { elicit: Elicit }) {
    const schema = { type: "object", properties: { name: { type: "number" } }, required: ["name"] };
    const answer = await elicit({ server: "srv", message: "How many?", schema }, new AbortController().signal);
    return { content: [{ type: "text", text: JSON.stringify(answer) }] };
  },
  readLinks: async (result: object) => result,
};
const tool = { name: "ask", description: "", schema: { type: "object" } };
const catalogue = new Map([["srv__ask", { ...tool, name: "srv__ask", connection, tool }]]);
const hub = { open: async () => ({}), catalogueFor: () => catalogue } as unknown as Hub;

it("schemas of questions are not compiled here: the server that asks checks the answer", async () => {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "legacy" } },
  );
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createHubServer(hub, { id: "owner", token: undefined }, { paused: new PausedCalls(60_000) }).connect(ours);
  await client.connect(theirs);
  const { content } = await client.callTool({ name: "srv__ask", arguments: {} });
  expect(content).toEqual([{ type: "text", text: '{"action":"accept","content":{"name":"Ada"}}' }]);
  await client.close();
});

it("every call is recorded, with how it ended and without arguments and results", async () => {
  const entries: HubCallEntry[] = [];
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const ends: Record<string, (signal: AbortSignal) => Promise<object>> = {
    well: async () => ({ content: [{ type: "text", text: "a secret" }] }),
    badly: async () => ({ content: [], isError: true }),
    thrown: async () => Promise.reject(new Error("it is down")),
    never: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  };
  const one = {
    name: "srv",
    call: (name: string, _args: object, { signal }: { signal: AbortSignal }) => ends[name]?.(signal),
    readLinks: async (result: object) => result,
  };
  const tools = Object.keys(ends).map((name) => ({ name, description: "", schema: { type: "object" } }));
  const all = new Map(tools.map((own) => [`srv__${own.name}`, { ...own, connection: one, tool: own }]));
  const recording = { open: async () => ({}), catalogueFor: () => all } as unknown as Hub;
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const options = {
    paused: new PausedCalls<never>(60_000),
    callLog: (entry: HubCallEntry) => void entries.push(entry),
  };
  await createHubServer(recording, { id: "k1", token: undefined }, options).connect(ours);
  await client.connect(theirs);
  const call = (name: string) => client.callTool({ name, arguments: { password: "a secret" } });
  for (const name of ["srv__well", "srv__badly", "srv__thrown", "nope"]) await call(name);
  const left = call("srv__never").catch(() => {});
  await expect.poll(() => entries.at(-1)).toMatchObject({ type: "started", tool: "srv__never" });
  await client.close();
  await left;
  await expect.poll(() => entries.at(-1)?.type).toBe("finished");
  const outcomes = entries
    .filter(({ type }) => type === "finished")
    .map(({ tool: named, outcome }) => [named, outcome]);
  expect(outcomes).toEqual([
    ["srv__well", "ok"],
    ["srv__badly", "error"],
    ["srv__thrown", "error"],
    ["nope", "refused"],
    ["srv__never", "canceled"],
  ]);
  expect(entries.map(({ type }) => type).slice(0, 3)).toEqual(["asked", "started", "finished"]);
  expect(entries[2]).toMatchObject({ server: "srv", serverTool: "well", principalId: "k1", bytes: 35 });
  expect(new Set(entries.map(({ callId }) => callId)).size).toBe(5);
  expect(JSON.stringify(entries)).not.toContain("a secret");
});
