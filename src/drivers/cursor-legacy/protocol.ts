import { randomUUID } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ExcursorError } from "../../core/errors.ts";
import { effortRank } from "../../core/models/effort.ts";
import type { JsonObject, ToolMessage, Turn } from "../../core/turn.ts";
import { GetChatRequestSchema, StreamChatResponseSchema } from "../../gen/aiserver/v1/chat_pb.ts";
import { ClientSideToolV2 } from "../../gen/aiserver/v1/client_side_tool_pb.ts";
import { UnifiedMode } from "../../gen/aiserver/v1/conversation_pb.ts";
import {
  StreamUnifiedChatRequestWithToolsSchema,
  StreamUnifiedChatResponseWithToolsSchema,
  ThinkingLevel,
} from "../../gen/aiserver/v1/unified_chat_pb.ts";
import { parseArgs } from "../../wire/agent/state/root-messages.ts";
import { decodeMessage } from "../../wire/connect/decode-message.ts";
import { bubblesOf, toolText } from "./bubbles.ts";

/** One of the older chat calls: its requests and messages. */
export interface LegacyProtocol {
  readonly path: string;
  /** True if the client keeps its half open for tool results. */
  readonly isBidi: boolean;
  request(prepared: PreparedTurn): Uint8Array;
  read(payload: Uint8Array): readonly LegacyEvent[];
  result(result: ToolMessage): Uint8Array;
}

export interface PreparedTurn {
  /** With the backend's model name, trimmed to the model's context. */
  readonly turn: Turn;
  readonly trimmedMessages?: number;
  readonly maxMode: boolean;
  /** True if the requested effort is not the one it gets. */
  readonly ignoresEffort: boolean;
  /** Undefined leaves the effort to the backend. */
  readonly effort?: string | undefined;
}

export type LegacyEvent =
  | { readonly type: "text" | "thinking"; readonly text: string }
  | { readonly type: "thinking-done" }
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly args: JsonObject };

/** The oldest call: a request and a stream of text, without tools. */
export const streamChat: LegacyProtocol = {
  path: "/aiserver.v1.AiService/StreamChat",
  isBidi: false,
  request({ turn, maxMode }) {
    if (turn.tools.length > 0) {
      throw new ExcursorError("tools_unsupported", [], { field: "tools" });
    }
    const request = create(GetChatRequestSchema, {
      conversation: bubblesOf(turn.messages),
      explicitContext: { context: turn.system },
      // Clients send a project here; we send a placeholder.
      workspaceRootPath: "/project",
      // Clients of that time sent an empty Azure state.
      modelDetails: { modelName: turn.model.id, azureState: {}, ...(maxMode && { maxMode }) },
      requestId: randomUUID(),
      conversationId: randomUUID(),
    });
    return toBinary(GetChatRequestSchema, request);
  },
  read(payload) {
    // Never show `filled_prompt` and the like: they echo the whole prompt.
    const { text } = decodeMessage(StreamChatResponseSchema, payload);
    return text === "" ? [] : [{ type: "text", text }];
  },
  result: () => new Uint8Array(),
};

/** The IDE's chat: text, thinking and tools on one stream. */
export const unifiedChat: LegacyProtocol = {
  path: "/aiserver.v1.ChatService/StreamUnifiedChatWithTools",
  isBidi: true,
  request({ turn, maxMode, effort }) {
    const thinkingLevel = thinkingLevelFor(effort);
    const conversation = bubblesOf(turn.messages);
    const tools = turn.toolChoice.type === "none" ? [] : turn.tools;
    return encodeUnified({
      case: "streamUnifiedChatRequest",
      value: {
        conversation,
        fullConversationHeadersOnly: conversation.map(({ bubbleId, type }) => ({ bubbleId, type })),
        explicitContext: { context: turn.system },
        modelDetails: { modelName: turn.model.id, ...(maxMode && { maxMode }) },
        conversationId: randomUUID(),
        isChat: tools.length === 0,
        isAgentic: tools.length > 0,
        isHeadless: true,
        shouldDisableTools: tools.length === 0,
        unifiedMode: tools.length === 0 ? UnifiedMode.CHAT : UnifiedMode.AGENT,
        unifiedModeName: tools.length === 0 ? "Ask" : "Agent",
        ...(thinkingLevel !== undefined && { thinkingLevel }),
        supportedTools: tools.length === 0 ? [] : [ClientSideToolV2.MCP],
        mcpTools: tools.map(({ name, description, schema }) => ({
          name,
          description,
          parameters: JSON.stringify(schema),
          serverName: "excursor",
        })),
      },
    });
  },
  read(payload) {
    const { response } = decodeMessage(StreamUnifiedChatResponseWithToolsSchema, payload);
    if (response.case === "clientSideToolV2Call") {
      const { toolCallId, name, rawArgs, isStreaming, isLastMessage } = response.value;
      return isStreaming && !isLastMessage
        ? []
        : [{ type: "tool-call", id: toolCallId, name, args: parseArgs(rawArgs) }];
    }
    if (response.case !== "streamUnifiedChatResponse") return [];
    const { text, thinking } = response.value;
    return [
      ...(thinking && thinking.text !== "" ? [{ type: "thinking" as const, text: thinking.text }] : []),
      ...(thinking?.isLastThinkingChunk ? [{ type: "thinking-done" as const }] : []),
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ];
  },
  result(result) {
    const value = { case: "mcpResult" as const, value: { selectedTool: "", result: toolText(result) } };
    return encodeUnified({
      case: "clientSideToolV2Result",
      value: { tool: ClientSideToolV2.MCP, toolCallId: result.callId, result: value },
    });
  },
};

/** Returns one of the protocol's two levels, or undefined if the model shall not think. */
function thinkingLevelFor(effort: string | undefined): ThinkingLevel | undefined {
  const rank = effortRank(effort ?? "none") ?? 0;
  if (rank === 0) return undefined;
  return rank >= HIGH_RANK ? ThinkingLevel.HIGH : ThinkingLevel.MEDIUM;
}

const HIGH_RANK = effortRank("high") ?? 0;

const encodeUnified = (request: MessageInitShape<typeof StreamUnifiedChatRequestWithToolsSchema>["request"] & object) =>
  toBinary(StreamUnifiedChatRequestWithToolsSchema, create(StreamUnifiedChatRequestWithToolsSchema, { request }));
