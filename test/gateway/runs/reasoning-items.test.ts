import { describe, expect, it } from "vitest";
import { startResponsesServer } from "../../drivers/support/responses-server.ts";
import type { Answer, DialectAdapter, Question } from "../support/dialect.ts";
import { DIALECTS } from "../support/dialects/index.ts";
import { KEY } from "../support/gateway-process.ts";
import { openOwnGateway } from "../support/own-gateway.ts";

const TOOLS = [{ name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } }];

async function put(url: string, dialect: DialectAdapter, question: Question): Promise<Answer> {
  const response = await fetch(url + dialect.path(question, true), {
    method: "POST",
    headers: { "content-type": "application/json", ...dialect.headers(KEY) },
    body: JSON.stringify(dialect.body(question, true)),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return dialect.streamed(text);
}

describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))(
  "reasoning items through %s",
  (_, dialect) => {
    it.each([false, true])("go back to the Responses API unchanged (after a restart: %s)", async (restarts) => {
      const upstream = await startResponsesServer(
        [{ reasoning: ["First."] }, { call: "look", args: { at: "x" } }],
        [{ reasoning: ["Good."] }, { call: "look", args: { at: "y" } }],
        [{ text: "Done." }],
      );
      const models = { "gpt-6": { driver: "openai", baseURL: `${upstream.url}/v1`, api: "responses" } };
      const gateway = await openOwnGateway({ models });
      const question: Question = {
        model: "gpt-6",
        effort: "high",
        tools: TOOLS,
        messages: [{ type: "user", text: "look" }],
      };
      const said = [...question.messages];
      for (let round = 0; round < 2; round++) {
        const answer = await put(gateway.url, dialect, { ...question, messages: said });
        expect(answer.calls).toHaveLength(1);
        said.push({ type: "answer", answer });
        said.push({ type: "results", results: answer.calls.map(({ id, name }) => ({ id, name, text: "seen" })) });
        if (restarts) await gateway.restart();
      }
      const last = await put(gateway.url, dialect, { ...question, messages: said });
      expect(last.text).toBe("Done.");
      expect(upstream.calls).toHaveLength(3);
      const items = upstream.calls[2]?.body.input.map(({ type }: { type: string }) => type);
      const round = ["reasoning", "function_call", "function_call_output"];
      expect(items).toEqual(["message", ...round, ...round]);
    });
  },
);
