import { create, type DescMessage, type MessageShape, toBinary, toJson } from "@bufbuild/protobuf";
import { GetChatRequestSchema, StreamChatResponseSchema } from "../../gen/aiserver/v1/chat_pb.ts";
import type { ConversationMessage, ExplicitContext, ModelDetails } from "../../gen/aiserver/v1/conversation_pb.ts";
import { ErrorDetails_Error } from "../../gen/aiserver/v1/error_pb.ts";
import {
  StreamUnifiedChatRequestSchema,
  StreamUnifiedChatResponseSchema,
} from "../../gen/aiserver/v1/unified_chat_pb.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { Backend, Routes } from "../backend.ts";
import { failureFrom } from "../rpc.ts";
import { endBeforeStream } from "../run/before-stream.ts";
import { ClientStream, StreamGone } from "../run/client-stream.ts";
import { RunTrace } from "../run/run-trace.ts";
import { beginStream, readFirstMessage } from "../run/stream-request.ts";
import type { SimExchange } from "../sim-exchange.ts";
import { readBubbles } from "./chat-history.ts";
import { answerChat, type ChatEncoder } from "./chat-stage.ts";

/** A chat with a single request and a streamed response. */
interface ChatProtocol<I extends DescMessage> {
  readonly input: I;
  readonly encoder: ChatEncoder;
}

type ChatRequest = {
  readonly conversation: ConversationMessage[];
  readonly explicitContext?: ExplicitContext | undefined;
  readonly modelDetails?: ModelDetails | undefined;
};

const noTools = { tools: [], call: async () => [] } satisfies Partial<ChatEncoder>;

const streamChat: ChatProtocol<typeof GetChatRequestSchema> = {
  input: GetChatRequestSchema,
  encoder: {
    ...noTools,
    text: (text) => toBinary(StreamChatResponseSchema, create(StreamChatResponseSchema, { text })),
    thinking: () => undefined,
  },
};

const streamUnifiedChat: ChatProtocol<typeof StreamUnifiedChatRequestSchema> = {
  input: StreamUnifiedChatRequestSchema,
  encoder: {
    ...noTools,
    text: (text) => toBinary(StreamUnifiedChatResponseSchema, create(StreamUnifiedChatResponseSchema, { text })),
    thinking: (text, isLastThinkingChunk) =>
      toBinary(
        StreamUnifiedChatResponseSchema,
        create(StreamUnifiedChatResponseSchema, { thinking: { text, isLastThinkingChunk } }),
      ),
  },
};

/** `StreamChat` and its siblings are retired; `StreamUnifiedChat` is not. */
export const streamChatRoutes: Routes = {
  ...Object.fromEntries(
    ["StreamChat", "StreamChatWeb", "StreamChatContext", "StreamChatDeepContext", "TaskStreamChatContext"].map(
      (method) => [
        `POST /aiserver.v1.AiService/${method}`,
        (exchange: SimExchange, backend: Backend) =>
          serveChat(exchange, backend, streamChat, backend.options.legacy === "deprecated"),
      ],
    ),
  ),
  "POST /aiserver.v1.ChatService/StreamUnifiedChat": (exchange, backend) =>
    serveChat(exchange, backend, streamUnifiedChat, false),
};

async function serveChat<I extends DescMessage>(
  exchange: SimExchange,
  backend: Backend,
  { input, encoder }: ChatProtocol<I>,
  isDeprecated: boolean,
): Promise<void> {
  const begun = beginStream(exchange, backend);
  if (!begun) return;
  const { account, out } = begun;
  const trace = new RunTrace(backend.options.trace, exchange.header("x-request-id") ?? "", exchange.transport);
  const clientStream = new ClientStream(out);
  try {
    const message: MessageShape<I> = await readFirstMessage(exchange, input);
    trace.note(input.name, trace.isOn ? toJson(input, message) : undefined, "in");
    if (isDeprecated) throw deprecated();
    const request = message as unknown as ChatRequest;
    const messages = readBubbles(request.conversation);
    const last = messages.at(-1);
    if (endBeforeStream(last?.role === "user" ? last.text : "", out, backend, account, () => false)) return;
    out.open();
    await clientStream.sleep(backend.options.bootstrapMs);
    const system = request.explicitContext?.context ?? "";
    const model = request.modelDetails;
    await answerChat({ messages, system, model, account, backend, clientStream, trace, encoder });
  } catch (error) {
    if (!(error instanceof StreamGone)) out.end(failureFrom(error));
  }
}

const deprecated = () =>
  new ConnectFailure("failed_precondition", "Error", {
    details: {
      error: ErrorDetails_Error.DEPRECATED,
      title: "Request type deprecated",
      detail: "This request type is deprecated. Please upgrade.",
      retryable: false,
    },
  });
