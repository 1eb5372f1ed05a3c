import { randomUUID } from "node:crypto";
import { create, fromBinary, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import {
  ClientSideToolV2,
  type ClientSideToolV2Result,
  ClientSideToolV2ResultSchema,
  type McpTool,
} from "../../gen/aiserver/v1/client_side_tool_pb.ts";
import {
  type StreamUnifiedChatRequest,
  StreamUnifiedChatRequestWithToolsSchema,
  StreamUnifiedChatResponseWithToolsSchema,
} from "../../gen/aiserver/v1/unified_chat_pb.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { Account } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import type { FrameWriter } from "../frame-writer.ts";
import { failureFrom } from "../rpc.ts";
import { endBeforeStream } from "../run/before-stream.ts";
import { ClientStream, StreamGone } from "../run/client-stream.ts";
import { RunTrace } from "../run/run-trace.ts";
import { type OpenRun, serveBidi, serveDownload } from "../run/stream-request.ts";
import type { CallStep } from "../script/play.ts";
import { readBubbles } from "./chat-history.ts";
import { answerChat } from "./chat-stage.ts";

/** The IDE's chat: one request, with tool calls and their results on the same stream. */
class UnifiedRun {
  readonly #backend: Backend;
  readonly #account: Account;
  readonly #out: FrameWriter;
  readonly #trace: RunTrace;
  readonly #clientStream: ClientStream;
  readonly #waiting = new Map<string, { resolve: (text: string) => void; reject: (reason: Error) => void }>();
  #hasStarted = false;

  constructor(backend: Backend, account: Account, requestId: string, out: FrameWriter) {
    this.#backend = backend;
    this.#account = account;
    this.#out = out;
    this.#trace = new RunTrace(backend.options.trace, requestId, out.exchange.transport);
    this.#clientStream = new ClientStream(out);
    out.exchange.onOver((wasCut) => {
      this.#trace.over(wasCut, out.failure);
      this.#abandon(new StreamGone());
    });
  }

  receive(payload: Uint8Array): void {
    try {
      const message = fromBinary(StreamUnifiedChatRequestWithToolsSchema, payload);
      const { request } = message;
      if (this.#trace.isOn) {
        this.#trace.note(request.case ?? "unknown", toJson(StreamUnifiedChatRequestWithToolsSchema, message), "in");
      }
      if (request.case === "clientSideToolV2Result") this.#takeResult(request.value);
      else if (request.case === "streamUnifiedChatRequest" && !this.#hasStarted) void this.#run(request.value);
      else this.#violate("stream_unified_chat_request: this chat has begun already.");
    } catch (error) {
      this.stop(error instanceof ConnectFailure ? error : new ConnectFailure("invalid_argument", String(error)));
    }
  }

  stop(failure: ConnectFailure): void {
    this.#clientStream.stop(failure);
    this.#abandon(failure);
    if (!this.#hasStarted) this.#out.end(failure);
  }

  async #run(request: StreamUnifiedChatRequest): Promise<void> {
    this.#hasStarted = true;
    const messages = readBubbles(request.conversation);
    const last = messages.at(-1);
    const prompt = last?.role === "user" ? last.text : "";
    const tools = request.shouldDisableTools ? [] : request.mcpTools;
    const offers = (tool: string) => tools.some(({ name }) => name === tool);
    try {
      if (endBeforeStream(prompt, this.#out, this.#backend, this.#account, offers)) return;
      this.#out.open();
      await this.#clientStream.sleep(this.#backend.options.bootstrapMs);
      void this.#clientStream.write(encode({ case: "streamStart", value: {} }));
      await answerChat({
        messages,
        system: request.explicitContext?.context ?? "",
        model: request.modelDetails,
        account: this.#account,
        backend: this.#backend,
        clientStream: this.#clientStream,
        trace: this.#trace,
        encoder: {
          text: (text) => encode({ case: "streamUnifiedChatResponse", value: { text } }),
          thinking: (text, isLastThinkingChunk) =>
            encode({ case: "streamUnifiedChatResponse", value: { thinking: { text, isLastThinkingChunk } } }),
          tools: tools.map(({ name }) => name),
          call: (batch) => this.#call(batch, tools),
        },
      });
    } catch (error) {
      if (!(error instanceof StreamGone)) this.#out.end(failureFrom(error));
    }
  }

  #call(batch: readonly CallStep[], tools: readonly McpTool[]): Promise<readonly string[]> {
    return Promise.all(
      batch.map(({ name, args }, toolIndex) => {
        const toolCallId = `toolu_${randomUUID()}`;
        const rawArgs = JSON.stringify(args);
        const tool = tools.find((offered) => offered.name === name);
        const answer = new Promise<string>((resolve, reject) => this.#waiting.set(toolCallId, { resolve, reject }));
        this.#trace.note("client_side_tool_v2_call", { toolCallId, name, rawArgs }, "out");
        void this.#clientStream.write(
          encode({
            case: "clientSideToolV2Call",
            value: {
              tool: ClientSideToolV2.MCP,
              toolCallId,
              name,
              rawArgs,
              isLastMessage: true,
              toolIndex,
              params: {
                case: "mcpParams",
                value: { tools: [{ name, parameters: rawArgs, serverName: tool?.serverName ?? "" }] },
              },
            },
          }),
        );
        return answer;
      }),
    );
  }

  #takeResult(result: ClientSideToolV2Result): void {
    const waiting = this.#waiting.get(result.toolCallId);
    if (!waiting) {
      this.#violate(`client_side_tool_v2_result.tool_call_id: "${result.toolCallId}" was not asked, or is answered.`);
      return;
    }
    this.#waiting.delete(result.toolCallId);
    waiting.resolve(resultText(result));
  }

  #violate(problem: string): void {
    this.#trace.note("violation", problem);
    if (!this.#backend.options.isLenient) throw new ConnectFailure("invalid_argument", problem);
  }

  #abandon(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }
}

const openUnifiedRun: OpenRun = (...parts) => new UnifiedRun(...parts);

export const unifiedRoutes: Routes = {
  "POST /aiserver.v1.ChatService/StreamUnifiedChatWithTools": (exchange, backend) =>
    serveBidi(exchange, backend, openUnifiedRun),
  "POST /aiserver.v1.ChatService/StreamUnifiedChatWithToolsSSE": (exchange, backend) =>
    serveDownload(exchange, backend, openUnifiedRun),
};

const encode = (
  response: MessageInitShape<typeof StreamUnifiedChatResponseWithToolsSchema>["response"] & object,
): Uint8Array =>
  toBinary(StreamUnifiedChatResponseWithToolsSchema, create(StreamUnifiedChatResponseWithToolsSchema, { response }));

function resultText({ result, error }: ClientSideToolV2Result): string {
  if (error) return error.modelVisibleErrorMessage || error.clientVisibleErrorMessage;
  if (result.case === "mcpResult") return result.value.result;
  if (result.case === "callMcpToolResult") return JSON.stringify(result.value.result ?? {});
  return result.case
    ? JSON.stringify(toJson(ClientSideToolV2ResultSchema, create(ClientSideToolV2ResultSchema, { result })))
    : "";
}
