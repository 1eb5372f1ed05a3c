import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** An MCP server on stdio with one tool, `note {of}`. It writes each call to the file of its first argument, a line each. */
const file = process.argv[2] ?? expectFile();

const INPUT = { type: "object", properties: { of: { type: "string" } } };

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly of?: string }; readonly protocolVersion?: string };
}

function answer({ method, params }: Message): object {
  if (method === "tools/list") return { tools: [{ name: "note", description: "notes", inputSchema: INPUT }] };
  if (method === "tools/call") {
    const of = params?.arguments?.of ?? "";
    appendFileSync(file, `${of}\n`);
    return { content: [{ type: "text", text: `noted ${of}` }] };
  }
  const serverInfo = { name: "noting", version: "1" };
  return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer(message) })}\n`);
});

function expectFile(): never {
  throw new Error("noting-server FILE");
}
