import type { ChatResponse, GenerateResponse, ToolCall } from "ollama";
import type { DoneReason, Usage } from "../../core/events.ts";
import type { Official } from "../shared/official.ts";
import type { ThoughtKeeper } from "../shared/thought-keeper.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";
import type { LoadReason } from "./load-request.ts";

/** What the lines of one answer have in common. */
export interface AnswerHead {
  readonly model: string;
  /** `/api/chat` has a message, `/api/generate` its text. */
  readonly form: "chat" | "generate";
  /** Set if the request has no question. */
  readonly loadReason: LoadReason | undefined;
  readonly showsThinking: boolean;
  /** When the request was read, by `performance.now()`. */
  readonly startedAt: number;
  readonly keeper: ThoughtKeeper;
  keepCalls(calls: readonly CalledTool[]): void;
}

interface Words {
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly CalledTool[];
}

type Line = Partial<Official<ChatResponse & GenerateResponse>>;

/** Returns a line of an answer, or a whole one. */
export function line({ model, form }: AnswerHead, { text = "", thinking, calls = [] }: Words): Line {
  const thoughts = thinking === undefined ? {} : { thinking };
  const said =
    form === "generate"
      ? { response: text, ...thoughts }
      : {
          message: {
            role: "assistant",
            content: text,
            ...thoughts,
            ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
          },
        };
  return { model, created_at: new Date().toISOString(), ...said, done: false };
}

/** Ollama's source has these (`ToolCall` in api/types.go), the types of its client do not. */
interface OwnCall {
  readonly id: string;
  readonly function: { readonly index: number };
}

const toolCall = ({ id, name, args }: CalledTool, index: number): Official<ToolCall> & OwnCall => ({
  id,
  function: { index, name, arguments: args },
});

/** Ollama has no reason of its own for tool calls. */
const DONE_REASONS = {
  stop: "stop",
  length: "length",
  "tool-calls": "stop",
  "content-filter": "stop",
} as const satisfies Record<DoneReason, string>;

/** Returns the fields of the last line. Durations are in nanoseconds. */
export function endFields(
  { startedAt, loadReason }: AnswerHead,
  reason: DoneReason,
  usage: Usage | undefined,
  firstEventAt: number,
): Line {
  if (loadReason) return { done: true, done_reason: loadReason };
  const now = performance.now();
  return {
    done: true,
    done_reason: DONE_REASONS[reason],
    total_duration: nanoseconds(now - startedAt),
    load_duration: 0,
    prompt_eval_count: usage?.inputTokens ?? 0,
    prompt_eval_duration: nanoseconds(firstEventAt - startedAt),
    eval_count: usage?.outputTokens ?? 0,
    eval_duration: nanoseconds(now - firstEventAt),
  };
}

/** Never 0: clients divide by it. */
const nanoseconds = (ms: number): number => Math.max(1, Math.round(ms * 1e6));
