import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { ToolActivity } from "../../../core/activity.ts";
import type { TurnEvent, Usage } from "../../../core/events.ts";
import type { JsonObject } from "../../../core/turn.ts";
import type { TurnEndedUpdateSchema } from "../../../gen/agent/v1/interaction_pb.ts";
import { McpToolDefinitionSchema } from "../../../gen/agent/v1/mcp_pb.ts";
import { AgentServerMessageSchema } from "../../../gen/agent/v1/run_pb.ts";
import type { ToolCall } from "../../../gen/agent/v1/tool_call_pb.ts";
import { encodeDelta } from "../../../wire/agent/delta.ts";
import { begunCall } from "../../../wire/agent/exec/begun-call.ts";
import { mcpArgs, mcpDisplay } from "../../../wire/agent/exec/mcp-call.ts";
import type { ServerMessage, Update } from "../../../wire/agent/messages.ts";

/** How much longer the arguments of a call must be, as a ratio and in characters, before they are shown again. */
const MORE_ARGS = { ratio: 1.1, chars: 64 };

/** Every so many deltas the client is told how many tokens they were. */
const DELTAS_PER_COUNT = 16;

export const encodeServerMessage = (message: ServerMessage): Uint8Array =>
  toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message }));

export const encodeUpdate = (message: Update): Uint8Array =>
  encodeServerMessage({ case: "interactionUpdate", value: { message } });

const modelCallId = (callId: string): string => `model_${callId}`;

const callStarted = (callId: string, toolCall: ToolCall): Uint8Array =>
  encodeUpdate({ case: "toolCallStarted", value: { callId, toolCall, modelCallId: modelCallId(callId) } });

export const callCompleted = (callId: string, toolCall: ToolCall): Uint8Array =>
  encodeUpdate({ case: "toolCallCompleted", value: { callId, toolCall, modelCallId: modelCallId(callId) } });

/** Turns the events of a run's answers into server messages. It sends nothing and keeps no text. */
export class EventRenderer {
  /** How a call of this tool is displayed. */
  readonly #display: (name: string, args: JsonObject, callId: string) => ToolCall;
  /** The arguments so far of calls that are being written. */
  readonly #partial = new Map<string, { readonly name: string; json: string; shownChars: number }>();
  readonly #shown = new Set<string>();
  #deltas = 0;
  #round: Usage | undefined;
  #total = { input: 0, output: 0, cached: 0, written: 0, reasoning: 0 };
  /** Tokens in the model's window after the last answer. */
  usedTokens = 0;

  constructor(display: (name: string, args: JsonObject, callId: string) => ToolCall) {
    this.#display = display;
  }

  render(event: TurnEvent): readonly Uint8Array[] {
    switch (event.type) {
      case "text":
      case "thinking":
        return this.#delta(event.type, event.text);
      case "thinking-done":
        return [
          encodeUpdate({ case: "thinkingCompleted", value: { thinkingDurationMs: Math.round(event.durationMs) } }),
        ];
      case "tool-call-start": {
        this.#partial.set(event.id, { name: event.name, json: "", shownChars: 0 });
        return this.#begin(event.id, this.#display(event.name, {}, event.id));
      }
      case "tool-call-delta": {
        const call = this.#partial.get(event.id);
        if (!call) return [];
        call.json += event.json;
        // Each update has all of the arguments so far, so a long text must not be sent with every piece of it.
        if (call.json.length < Math.max(call.shownChars * MORE_ARGS.ratio, call.shownChars + MORE_ARGS.chars))
          return [];
        call.shownChars = call.json.length;
        return [this.#partialCall(event.id, call.json, this.#display(call.name, {}, event.id))];
      }
      case "tool-call": {
        const display = this.#display(event.name, event.args, event.id);
        this.#partial.delete(event.id);
        const begun = this.#shown.has(event.id) ? [] : this.#begin(event.id, display);
        return [...begun, this.#partialCall(event.id, JSON.stringify(event.args), display)];
      }
      case "usage":
        this.#round = event.usage;
        return [];
      case "activity":
        return event.activity.type === "tool" ? this.#activity(event.activity) : [];
      case "done":
        this.#partial.clear();
        this.#addUsage();
        return this.#count();
      default:
        return [];
    }
  }

  turnEnded(): Uint8Array {
    const { input, output, cached, written, reasoning } = this.#total;
    const value: MessageInitShape<typeof TurnEndedUpdateSchema> = {
      inputTokens: BigInt(input),
      outputTokens: BigInt(output),
      cacheReadTokens: BigInt(cached),
      cacheWriteTokens: BigInt(written),
      reasoningTokens: BigInt(reasoning),
    };
    return encodeUpdate({ case: "turnEnded", value });
  }

  #delta(kind: "text" | "thinking", text: string): readonly Uint8Array[] {
    const delta = encodeDelta({ kind, text });
    return ++this.#deltas < DELTAS_PER_COUNT ? [delta] : [delta, ...this.#count()];
  }

  #count(): readonly Uint8Array[] {
    if (this.#deltas === 0) return [];
    const tokens = this.#deltas;
    this.#deltas = 0;
    return [encodeUpdate({ case: "tokenDelta", value: { tokens } })];
  }

  #start(callId: string, display: ToolCall): Uint8Array {
    this.#shown.add(callId);
    return callStarted(callId, display);
  }

  /** Shows a call of the model. Its arguments come after an empty part. */
  #begin(callId: string, display: ToolCall): readonly Uint8Array[] {
    return [this.#start(callId, display), this.#partialCall(callId, "", begunCall(display))];
  }

  #partialCall(callId: string, argsTextDelta: string, toolCall: ToolCall): Uint8Array {
    const value = { callId, toolCall, argsTextDelta, modelCallId: modelCallId(callId) };
    return encodeUpdate({ case: "partialToolCall", value });
  }

  /** Tools that an agent runs itself are shown as tools of a server named `agent`. */
  #activity({ id, title, status, detail }: ToolActivity): readonly Uint8Array[] {
    const tool = create(McpToolDefinitionSchema, { name: title, toolName: title, providerIdentifier: "agent" });
    const input = detail["rawInput"];
    const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
    const args = mcpArgs(tool, (isObject ? input : {}) as never, id);
    const begun = this.#shown.has(id) ? [] : [this.#start(id, mcpDisplay(args))];
    if (status !== "completed" && status !== "failed") return begun;
    const result = { case: "success" as const, value: { content: [], isError: status === "failed" } };
    return [...begun, callCompleted(id, mcpDisplay(args, result as never))];
  }

  #addUsage(): void {
    const usage = this.#round;
    if (!usage) return;
    this.#round = undefined;
    this.#total.input += usage.inputTokens;
    this.#total.output += usage.outputTokens;
    this.#total.cached += usage.cachedTokens;
    this.#total.written += usage.cacheWrittenTokens;
    this.#total.reasoning += usage.reasoningTokens;
    this.usedTokens = usage.inputTokens + usage.outputTokens;
  }
}
