import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type ApiCall, type ApiServer, replyJson, replyStream, startApiServer } from "./api-server.ts";

/** What the model says in one answer. */
type Block =
  | { readonly type: "text" | "thinking"; readonly text: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object };

export interface Answer {
  readonly blocks: readonly Block[];
  readonly stop?: string;
  readonly usage?: object;
  /** Ends the stream by this error, in the middle of the last block. */
  readonly error?: { readonly type: string; readonly message: string };
  /** Just breaks off there. */
  readonly breaksOff?: boolean;
  readonly pieceBytes?: number;
}

export type Reply = Answer | ((call: ApiCall, response: ServerResponse) => unknown);

/** As long as real ones, with everything that base64 has. */
export const signatureOf = (text: string): string =>
  `EqQB+/${createHash("sha512").update(text).digest("base64")}${createHash("sha256").update(text).digest("base64")}`;

/**
 * The shape of Anthropic's API as it was recorded: the events of a stream and their order, the list of models, and the
 * refusals that a client which loses or changes thinking runs into.
 */
export async function startAnthropicServer(...replies: Reply[]): Promise<ApiServer> {
  const server: ApiServer = await startApiServer((call, response) => {
    if (call.headers["x-api-key"] === "wrong") {
      return replyJson(response, 401, errorBody("authentication_error", "invalid x-api-key: wrong"));
    }
    if (call.path.startsWith("/v1/models")) return replyJson(response, 200, MODELS);
    const refusal = refusalOf(call.body);
    if (refusal) return replyJson(response, 400, errorBody("invalid_request_error", refusal));
    const reply = replies[asked++];
    if (!reply) return replyJson(response, 500, errorBody("api_error", "there is no further answer"));
    if (typeof reply === "function") return reply(call, response);
    return replyStream(response, streamOf(reply, call.body.model), reply.pieceBytes);
  });
  let asked = 0;
  return server;
}

export const errorBody = (type: string, message: string) => ({
  type: "error",
  error: { type, message },
  request_id: "req_011CS",
});

const model = (id: string, thinking: "adaptive" | "enabled") => ({
  type: "model",
  id,
  display_name: id.replaceAll("-", " "),
  created_at: "2026-01-01T00:00:00Z",
  max_input_tokens: 200_000,
  max_tokens: 64_000,
  capabilities: {
    image_input: { supported: true },
    effort: {
      supported: thinking === "adaptive",
      low: { supported: thinking === "adaptive" },
      medium: { supported: thinking === "adaptive" },
      high: { supported: thinking === "adaptive" },
      max: { supported: false },
      xhigh: null,
    },
    thinking: {
      supported: true,
      types: {
        adaptive: { supported: thinking === "adaptive" },
        enabled: { supported: true },
        disabled: { supported: true },
        between_tools: { supported: false },
      },
    },
  },
});

const MODELS = {
  data: [model("claude-sonnet-5", "adaptive"), model("claude-older", "enabled")],
  has_more: false,
  first_id: "claude-sonnet-5",
  last_id: "claude-older",
};

// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
function refusalOf(body: any): string | undefined {
  if (!Number.isInteger(body.max_tokens)) return "max_tokens: Field required";
  if (body.thinking?.type === "enabled" && body.thinking.budget_tokens >= body.max_tokens) {
    return "`max_tokens` must be greater than `thinking.budget_tokens`";
  }
  if (body.thinking && body.thinking.type !== "disabled" && ["any", "tool"].includes(body.tool_choice?.type)) {
    return "Thinking may not be enabled when tool_choice forces tool use.";
  }
  for (const [index, { role, content }] of body.messages.entries()) {
    if (content.length === 0) return `messages.${index}: all messages must have non-empty content`;
    const next = body.messages[index + 1]?.content ?? [];
    for (const [at, block] of content.entries()) {
      const place = `messages.${index}.content.${at}`;
      if (block.type === "thinking" && block.signature !== signatureOf(block.thinking)) {
        return `${place}: Invalid \`signature\` in \`thinking\` block`;
      }
      if (block.type === "tool_use" && !/^[a-zA-Z0-9_-]+$/.test(block.id)) return `${place}.id: String should match`;
      // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
      if (block.type === "tool_use" && !next.some((other: any) => other.tool_use_id === block.id)) {
        return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`;
      }
    }
    const isLastAnswer = role === "assistant" && index >= body.messages.length - 2;
    if (isLastAnswer && body.thinking?.type === "enabled" && !/thinking/.test(content[0].type)) {
      return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${content[0].type}\`.`;
    }
  }
  return undefined;
}

const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export function streamOf({ blocks, stop, usage, error, breaksOff }: Answer, modelId = "claude-sonnet-5"): string {
  let text = event("message_start", {
    message: {
      model: modelId,
      id: "msg_01XFDUDYJgAACzvnptvVoYEL",
      type: "message",
      role: "assistant",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 25, cache_creation_input_tokens: 3, cache_read_input_tokens: 40, output_tokens: 1 },
    },
  });
  for (const [index, block] of blocks.entries()) {
    const [content_block, deltas] = pieces(block);
    text += event("content_block_start", { index, content_block });
    if (index === 0) text += event("ping");
    for (const delta of deltas) text += event("content_block_delta", { index, delta });
    if (index === blocks.length - 1) {
      if (error) return text + event("error", { error });
      if (breaksOff) return text;
    }
    text += event("content_block_stop", { index });
  }
  const stop_reason = stop ?? (blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn");
  text += event("message_delta", {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 89, output_tokens_details: { thinking_tokens: 30 }, ...usage },
  });
  return text + event("message_stop");
}

function pieces(block: Block): [start: object, deltas: object[]] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: "" }, words(block.text).map((text) => ({ type: "text_delta", text }))];
    case "thinking":
      return [
        { type: "thinking", thinking: "", signature: "" },
        [
          ...words(block.text).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: signatureOf(block.text) },
        ],
      ];
    case "redacted_thinking":
      return [block, []];
    case "tool_use": {
      const { input, ...call } = block;
      const json = JSON.stringify(input).match(/.{1,7}/gs) ?? [];
      const deltas = ["", ...json].map((partial_json) => ({ type: "input_json_delta", partial_json }));
      return [{ ...call, input: {} }, deltas];
    }
  }
}

const words = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];
