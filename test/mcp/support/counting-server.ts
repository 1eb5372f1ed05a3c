import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * An MCP server on stdio that counts its calls in a file, so that the count outlives it. `count` answers at once, `slow`
 * when the file `go` is there. The first argument is the folder of both files.
 */
const folder = process.argv[2] ?? ".";
const counter = join(folder, "count");

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const INPUT = { type: "object", properties: {} };
const TOOLS = ["count", "slow"].map((name) => ({ name, description: name, inputSchema: INPUT }));

async function call(name: string): Promise<object> {
  appendFileSync(counter, "x");
  const count = readFileSync(counter, "utf8").length;
  while (name === "slow" && !existsSync(join(folder, "go"))) await sleep(10);
  return { content: [{ type: "text", text: `count is ${count}` }] };
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

async function answer({ method, params }: Message): Promise<object> {
  if (method === "tools/list") return { tools: TOOLS };
  if (method === "tools/call") return call(params?.name ?? "");
  const serverInfo = { name: "counting", version: "1" };
  return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const message = JSON.parse(line) as Message;
  if (message.id !== undefined) send({ id: message.id, result: await answer(message) });
});
