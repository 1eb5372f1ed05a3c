import type { ServerResponse } from "node:http";
import { type ApiCall, type ApiServer, replyJson, replyStream, startApiServer } from "./api-server.ts";

export type Reply = readonly object[] | ((call: ApiCall, response: ServerResponse) => unknown);

/** The shape of OpenAI's Chat Completions, and what servers that speak it add: deltas are given as they are sent. */
export async function startOpenAiServer(...replies: Reply[]): Promise<ApiServer> {
  let asked = 0;
  return startApiServer((call, response) => {
    if (call.headers.authorization === "Bearer wrong") {
      return replyJson(response, 401, errorBody("invalid_api_key", "Incorrect API key provided: wrong."));
    }
    if (call.path === "/v1/models") return replyJson(response, 200, MODELS);
    const reply = replies[asked++];
    if (!reply) return replyJson(response, 500, errorBody(null, "there is no further answer"));
    return typeof reply === "function" ? reply(call, response) : replyStream(response, streamOf(reply));
  });
}

export const errorBody = (code: string | null, message: string) => ({
  error: { message, type: "invalid_request_error", param: null, code },
});

const MODELS = {
  object: "list",
  data: [
    { id: "llama-4", object: "model", created: 1, owned_by: "library" },
    { id: "qwen", object: "model", created: 1, owned_by: "library", max_model_len: 32_768, reasoning: true },
  ],
};

const USAGE = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 4 },
};

const head = { id: "chatcmpl-123", object: "chat.completion.chunk", created: 1_694_268_190, model: "llama-4" };

export function streamOf(deltas: readonly object[], finish = "stop", end = "data: [DONE]\n\n"): string {
  const chunk = (choices: object[], usage: object | null = null) =>
    `data: ${JSON.stringify({ ...head, system_fingerprint: "fp_44709d6fcb", choices, usage })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }]);
  const calls = deltas.some((delta) => "tool_calls" in delta);
  return [
    choice({ role: "assistant", content: "", refusal: null }),
    ...deltas.map((delta) => choice(delta)),
    choice({}, calls ? "tool_calls" : finish),
    chunk([], USAGE),
    end,
  ].join("");
}
