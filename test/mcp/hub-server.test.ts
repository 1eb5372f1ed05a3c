import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import type { Elicit } from "../../src/core/hub/tool-hub.ts";
import type { Hub } from "../../src/mcp/hub.ts";
import { createHubServer } from "../../src/mcp/hub-server.ts";
import { PausedCalls } from "../../src/mcp/paused-calls.ts";

/** A hub with one tool, which asks for a number and gives back what it got. */
const connection = {
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
  await createHubServer(hub, { id: "owner", token: undefined }, new PausedCalls(60_000)).connect(ours);
  await client.connect(theirs);
  const { content } = await client.callTool({ name: "srv__ask", arguments: {} });
  expect(content).toEqual([{ type: "text", text: '{"action":"accept","content":{"name":"Ada"}}' }]);
  await client.close();
});
