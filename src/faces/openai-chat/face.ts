import { NO_THOUGHTS, type ThinkingStyle, type Thoughts } from "../../core/thinking/thoughts.ts";
import type { Face } from "../shared/face.ts";
import type { CompletionHead } from "../shared/openai/chat-completion.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../shared/request-limits.ts";
import { ThoughtKeeper } from "../shared/thought-keeper.ts";
import { CompletionCollector } from "./collect.ts";
import { readRequest, toTurn } from "./parse.ts";
import { ignoredFields } from "./refusals.ts";
import { ChunkRenderer } from "./render.ts";
import { styleFor } from "./thinking/style-for.ts";

export interface OpenAiChatOptions {
  readonly limits?: Partial<RequestLimits>;
  /** How thinking is shown. Unset: chosen by the client. */
  readonly thinking?: ThinkingStyle | undefined;
  /** Stores thinking that clients send back changed, or by its id. */
  readonly thoughts?: Thoughts;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export function createOpenAiChatFace(options: OpenAiChatOptions = {}): Face {
  const limits = { ...REQUEST_LIMITS, ...options.limits };
  const { thoughts = NO_THOUGHTS, now = Date.now } = options;
  return {
    parse: async (body, context) => {
      const { request, customTools } = readRequest(body, limits);
      const principalId = context.principal.id;
      const style = options.thinking ?? styleFor(body, context.header("user-agent"));
      const turn = await toTurn(request, context, { style, thoughts, principalId });
      // A client that asks for JSON gets only JSON as text.
      const written = turn.output.type === "text" || style === "none" ? style : "fields";
      const thinking = () => ({ style: written, keeper: new ThoughtKeeper(thoughts, principalId) });
      const created = Math.floor(now() / 1000);
      const head: CompletionHead = { id: `chatcmpl-${context.requestId}`, created, model: request.model };
      const includesUsage = request.stream_options?.include_usage ?? false;
      return {
        turn,
        isStream: request.stream ?? false,
        ignored: ignoredFields(body as Readonly<Record<string, unknown>>),
        fields: { effort: "reasoning_effort" },
        stream: () => new ChunkRenderer(head, { includesUsage, thinking: thinking(), customTools }),
        collect: () => new CompletionCollector(head, thinking(), customTools),
      };
    },
  };
}
