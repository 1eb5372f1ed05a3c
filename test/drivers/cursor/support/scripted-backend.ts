import {
  createServer as createHttp1,
  type Server as Http1Server,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { ValueSchema } from "@bufbuild/protobuf/wkt";
import { afterEach } from "vitest";
import type { CursorDriverOptions } from "../../../../src/drivers/cursor/driver.ts";
import type { ResolvedModel } from "../../../../src/drivers/cursor/models/model.ts";
import {
  type AgentClientMessage,
  AgentClientMessageSchema,
  type AgentRunRequest,
  AgentServerMessageSchema,
} from "../../../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "../../../../src/gen/aiserver/v1/bidi_pb.ts";
import { SERVER_HEARTBEAT } from "../../../../src/wire/agent/heartbeat.ts";
import type { ServerMessage, Update } from "../../../../src/wire/agent/messages.ts";
import { encodeFrame, FLAG_END, FrameDecoder } from "../../../../src/wire/connect/envelope.ts";
import { APPEND_PATH, RUN_SSE_PATH } from "../../../../src/wire/connect/sse-run.ts";
import { wireLimits } from "../../../../src/wire/limits.ts";
import { setUpDriver } from "./driver-stage.ts";

const open: ScriptedBackend[] = [];

afterEach(async () => {
  for (const backend of open.splice(0)) await backend.close();
});

/** The driver in front of scripted runs. A simulator answers its other calls. */
export async function setUpScripted(
  transport: "h2" | "h1",
  plays: readonly Play[],
  options: Partial<CursorDriverOptions> = {},
  model: Partial<ResolvedModel> = {},
) {
  const backend = new ScriptedBackend(transport, plays);
  open.push(backend);
  const stage = await setUpDriver(transport, { agentOrigin: await backend.listen(), ...options }, {}, model);
  return { ...stage, backend };
}

/** Plays one run: exact frames, and waits for what the driver sends. */
export type Play = (run: ScriptedRun) => unknown;

/** What both kinds of responses have. */
type Response = Pick<ServerResponse, "write" | "end">;

/**
 * A backend for runs that sends exactly what a test tells it, over either transport. The n-th run is played by the n-th
 * play, and later ones by the last.
 */
class ScriptedBackend {
  readonly runs: ScriptedRun[] = [];
  /** The content type of what it sends. */
  contentType = "application/connect+proto";
  readonly #plays: readonly Play[];
  readonly #byId = new Map<string, ScriptedRun>();
  readonly #sockets = new Set<{ destroy(): unknown }>();
  readonly #server: Http1Server | Http2Server;

  constructor(transport: "h2" | "h1", plays: readonly Play[]) {
    this.#plays = plays;
    this.#server =
      transport === "h2"
        ? createHttp2((request, response) => void this.#serveBidi(request, response))
        : createHttp1((request, response) => void this.#servePair(request, response));
    this.#server.on("connection", (socket) => this.#sockets.add(socket));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serveBidi(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    response.writeHead(200, { "content-type": this.contentType });
    const run = this.#begin(response as unknown as Response, () => response.stream.close(2));
    const decoder = new FrameDecoder(wireLimits());
    for (const half of [request, response]) half.on("error", () => {});
    request.on("data", (chunk: Buffer) => decoder.push(chunk, (_, payload) => this.#hear(run, payload)));
  }

  async #servePair(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (request.url === RUN_SSE_PATH) {
      const { requestId } = fromBinary(BidiRequestIdSchema, body.subarray(5));
      response.writeHead(200, { "content-type": this.contentType });
      response.on("error", () => {});
      const run = this.#begin(response, () => response.socket?.destroySoon());
      this.#byId.set(requestId, run);
      return;
    }
    if (request.url !== APPEND_PATH) throw new Error(`unexpected call: ${request.url}`);
    const { requestId, data, dataBinary, appendSeqno } = fromBinary(BidiAppendRequestSchema, body);
    response.writeHead(200, { "content-type": "application/proto" }).end();
    // The first message may overtake the download.
    while (!this.#byId.has(requestId?.requestId ?? "")) await new Promise(setImmediate);
    const run = this.#byId.get(requestId?.requestId ?? "");
    run?.inOrder(Number(appendSeqno), () => this.#hear(run, data ? Buffer.from(data, "hex") : dataBinary));
  }

  #begin(response: Response, cut: () => void): ScriptedRun {
    const run = new ScriptedRun(response, cut);
    this.runs.push(run);
    return run;
  }

  #hear(run: ScriptedRun, payload: Uint8Array): void {
    const isFirst = run.received.length === 0;
    run.hear(fromBinary(AgentClientMessageSchema, payload));
    const play = this.#plays[Math.min(this.runs.indexOf(run), this.#plays.length - 1)];
    if (isFirst) void play?.(run);
  }
}

export class ScriptedRun {
  readonly received: AgentClientMessage["message"][] = [];
  /** Drops the stream without an end frame. */
  readonly cut: () => void;
  readonly #response: Response;
  readonly #early = new Map<number, () => void>();
  #seqno = 0;
  #heard: (() => void)[] = [];

  constructor(response: Response, cut: () => void) {
    this.#response = response;
    this.cut = cut;
  }

  /** The first message of the driver. */
  get request(): AgentRunRequest {
    const [first] = this.received;
    if (first?.case !== "runRequest") throw new Error("the run did not begin with its request");
    return first.value;
  }

  /** The results that the driver has sent, by the id of their exec. */
  get results(): readonly { readonly id: number; readonly text: string }[] {
    return this.received.flatMap((message) =>
      message.case === "execClientMessage"
        ? [{ id: message.value.id, text: JSON.stringify(message.value.message.value, bigintToText) }]
        : [],
    );
  }

  inOrder(seqno: number, hear: () => void): void {
    this.#early.set(seqno, hear);
    for (let next = this.#early.get(this.#seqno); next; next = this.#early.get(this.#seqno)) {
      this.#early.delete(this.#seqno++);
      next();
    }
  }

  hear({ message }: AgentClientMessage): void {
    this.received.push(message);
    for (const resolve of this.#heard.splice(0)) resolve();
  }

  /** Resolves once the driver has sent so many exec results. */
  async untilResults(count: number): Promise<void> {
    while (this.results.length < count) await new Promise<void>((resolve) => this.#heard.push(resolve));
  }

  /** Sends messages in one write. */
  send(...messages: readonly ServerMessage[]): void {
    this.#response.write(Buffer.concat(messages.map(encoded)));
  }

  /** Sends messages and the end frame in one write, and ends the stream. */
  end(messages: readonly ServerMessage[] = [], error?: object): void {
    const last = encodeFrame(Buffer.from(JSON.stringify(error ? { error } : {})), FLAG_END);
    this.#response.end(Buffer.concat([...messages.map(encoded), last]));
  }
}

const encoded = (message: ServerMessage): Uint8Array =>
  encodeFrame(toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message })));

const bigintToText = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

export const update = (message: Update): ServerMessage => ({ case: "interactionUpdate", value: { message } });
export const text = (said: string): ServerMessage => update({ case: "textDelta", value: { text: said } });
export const turnEnded = update({ case: "turnEnded", value: {} });
export const beat = SERVER_HEARTBEAT;

/** A checkpoint that tests can tell from others. With pending calls it is a staged one. */
export const checkpoint = (mark: string, ...pendingToolCalls: string[]): ServerMessage => ({
  case: "conversationCheckpointUpdate",
  value: { readPaths: [mark], pendingToolCalls },
});

/** A request for a call of the client's tool `look`. */
export const callLook = (
  id: number,
  toolCallId: string,
  args: Readonly<Record<string, MessageInitShape<typeof ValueSchema>>> = {},
): ServerMessage => ({
  case: "execServerMessage",
  value: { id, message: { case: "mcpArgs", value: { name: "look", toolName: "look", toolCallId, args } } },
});
