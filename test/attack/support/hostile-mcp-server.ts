import { createInterface } from "node:readline";

/**
 * An MCP server on stdio that answers with whatever it is given: the first argument is a JSON object with `lists` (what
 * `tools/list` gives, one after the other) and `results` (the same for `tools/call`). `null` stands for no answer at all.
 */
const { lists, results } = JSON.parse(process.argv[2] ?? "{}") as Record<"lists" | "results", unknown[]>;

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

process.stderr.write(`pid ${process.pid}\n`);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize") {
    const capabilities = { tools: { listChanged: true } };
    const serverInfo = { name: "hostile", version: "1" };
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
    return;
  }
  const answers = method === "tools/list" ? lists : method === "tools/call" ? results : undefined;
  if (!answers) {
    send({ id, error: { code: -32_601, message: "Method not found" } });
    return;
  }
  const answer = answers.length > 1 ? answers.shift() : answers[0];
  if (answer !== null) send({ id, result: answer });
});
