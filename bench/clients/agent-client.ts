import { type ClientHttp2Session, connect } from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import { type AgentServerMessage, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { type ClientMessage, encodeClientMessage } from "../../src/wire/agent/messages.ts";
import { encodeFrame, FLAG_END, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import { NUMBER_DIGITS, nowUs, type Plan, promptOf, readNumber, TIME_DIGITS } from "../peers/plan.ts";

/** What one run gave so far. */
export interface AgentAnswer {
  readonly tokens: number;
  /** Microseconds from the request to the first token. */
  readonly firstTokenUs: number;
}

/** A client of Cursor's agent protocol on one HTTP/2 connection, for runs whose prompt is a plan. */
export class AgentClient {
  readonly #session: ClientHttp2Session;
  readonly #token: string;
  readonly #model: string;

  constructor(port: number, token: string, model: string) {
    this.#session = connect(`http://127.0.0.1:${port}`, { settings: { enablePush: false } });
    this.#token = token;
    this.#model = model;
  }

  /** Starts a run. `done` rejects if a token is missing or out of order. */
  ask(plan: Plan, onFirst: () => void = () => {}): { readonly answer: AgentAnswer; readonly done: Promise<void> } {
    const answer = { tokens: 0, firstTokenUs: 0 };
    const stream = this.#session.request({
      ":method": "POST",
      ":path": "/agent.v1.AgentService/Run",
      "content-type": "application/connect+proto",
      "connect-protocol-version": "1",
      authorization: `Bearer ${this.#token}`,
    });
    const send = (message: ClientMessage) => void stream.write(encodeFrame(encodeClientMessage(message)));
    const text = promptOf(plan);
    const askedUs = nowUs();
    send({
      case: "runRequest",
      value: {
        action: { action: { case: "userMessageAction", value: { userMessage: { text } } } },
        requestedModel: { modelId: this.#model },
        conversationId: `bench-${askedUs}-${plan.id}`,
        runId: `bench-${askedUs}-${plan.id}`,
      },
    });
    const tokenBytes = NUMBER_DIGITS + (plan.rate ? TIME_DIGITS : 0);
    const take = (tokens: string): void => {
      const bytes = Buffer.from(tokens);
      for (let at = 0; at < bytes.length; at += tokenBytes) {
        const number = readNumber(bytes, NUMBER_DIGITS, at);
        if (number !== answer.tokens) throw new Error(`token ${number} came instead of ${answer.tokens}`);
        if (answer.tokens++ > 0) continue;
        answer.firstTokenUs = nowUs() - askedUs;
        onFirst();
      }
    };
    const done = new Promise<void>((resolve, reject) => {
      const decoder = new FrameDecoder({ maxFrameBytes: 1 << 24 });
      const onFrame = (flags: number, payload: Uint8Array) => {
        if (flags === 0) react(fromBinary(AgentServerMessageSchema, payload), send, take);
        else if ((flags & FLAG_END) !== 0) {
          stream.end();
          const end = Buffer.from(payload).toString("utf8");
          if (answer.tokens === plan.tokens && !end.includes('"error"')) resolve();
          else reject(new Error(`${answer.tokens} of ${plan.tokens} tokens came: ${end}`));
        }
      };
      stream.on("data", (chunk: Buffer) => {
        try {
          decoder.push(chunk, onFrame);
        } catch (error) {
          reject(error);
        }
      });
      stream.on("error", reject).on("close", () => reject(new Error("the stream ended too early")));
    });
    return { answer, done };
  }

  close(): void {
    this.#session.destroy();
  }
}

/** Confirms blobs and sends an empty context, as a run of one of our own models needs them. */
function react(
  { message }: AgentServerMessage,
  send: (message: ClientMessage) => void,
  take: (tokens: string) => void,
): void {
  if (message.case === "interactionUpdate") {
    const update = message.value.message;
    if (update.case === "textDelta" || update.case === "thinkingDelta") take(update.value.text);
  } else if (message.case === "kvServerMessage") {
    const { id, message: args } = message.value;
    if (args.case !== "setBlobArgs") throw new Error(`unexpected ${args.case}`);
    send({ case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } });
  } else if (message.case === "execServerMessage") {
    const { id, message: args } = message.value;
    if (args.case !== "requestContextArgs") throw new Error(`unexpected ${args.case}`);
    const result = { result: { case: "success", value: { requestContext: {} } } } as const;
    send({ case: "execClientMessage", value: { id, message: { case: "requestContextResult", value: result } } });
  }
}
