// An agent that writes exactly what it is told. A prompt is a JSON array of lines to write, where "$id" and "$session"
// stand for the request's id and session, or "plain" for a good answer. answers.json in its folder has its responses to
// other requests.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const answers = JSON.parse(readFileSync("answers.json", "utf8"));
const write = (message) => process.stdout.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);

const RESULTS = {
  initialize: { protocolVersion: 1, agentCapabilities: { sessionCapabilities: { close: {} } } },
  "session/new": { sessionId: "s1" },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  // Answers to what it asked itself.
  if (method === undefined) appendFileSync("sent", `${line}\n`);
  if (id === undefined || method === undefined) return;
  if (method !== "session/prompt") {
    const response = Object.hasOwn(answers, method) ? answers[method] : { result: RESULTS[method] ?? {} };
    write({ jsonrpc: "2.0", id, ...response });
    return;
  }
  const text = params.prompt.at(-1).text;
  if (text !== "plain") {
    for (const template of JSON.parse(text)) {
      write(template.replaceAll('"$id"', JSON.stringify(id)).replaceAll("$session", params.sessionId));
    }
    return;
  }
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "plain" } };
  write({ jsonrpc: "2.0", method: "session/update", params: { sessionId: params.sessionId, update } });
  write({ jsonrpc: "2.0", id, result: { stopReason: "end_turn" } });
});
