import type { IncomingMessage } from "node:http";
import type { Limits } from "../../config/limits.ts";
import type { RequestContext, ToolSource } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent, Usage } from "../../core/events.ts";
import { HUB_NOTICES } from "../../core/hub/hub-notices.ts";
import { ANSWERED_BY } from "../../core/notices/answered-by.ts";
import { IGNORED } from "../../core/notices/ignored.ts";
import { TRIMMED } from "../../core/notices/trimmed.ts";
import type { JsonObject, Turn } from "../../core/turn.ts";
import type { Face, ImageLoader, ParsedRequest, StreamRenderer } from "../../faces/shared/face.ts";
import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { Log } from "../../observe/log.ts";
import { EventStream, type StreamForm } from "../event-stream.ts";
import { hopsOf } from "../gate/hops-of.ts";
import type { Exchange } from "../gateway-exchange.ts";
import { readJson } from "../read-json.ts";
import { type ClientTap, tapCarrier } from "./client-tap.ts";
import type { RequestPasser } from "./pass-route.ts";
import { ASKS_HEADER, type Questions } from "./questions.ts";
import { requestContext } from "./request-context.ts";
import type { PathParameters, Route } from "./route.ts";

/** The part of the engine that runs turns. */
export interface TurnRunner {
  run(turn: Turn, context: RequestContext): AsyncIterable<readonly TurnEvent[]>;
}

/** Where the answer to a turn goes. */
export interface AnswerCarrier {
  openStream(headers: () => Readonly<Record<string, string>>, form: StreamForm): AnswerOutlet;
  /** Sends a whole answer. Absent: every answer is streamed. */
  reply?(body: JsonObject, headers: Readonly<Record<string, string>>): void;
}

/** A streamed answer on its way to the client. */
export type AnswerOutlet = Pick<EventStream, "hasComments" | "hasBegun" | "write" | "drained" | "end" | "stop">;

export interface TurnRouteOptions extends TurnService {
  readonly path: string;
  readonly face: Face<StreamRenderer>;
  readonly module: FaceModule;
}

/** What every turn needs, whatever its face and carrier. */
export interface TurnService {
  readonly engine: TurnRunner & RequestPasser;
  readonly images: ImageLoader;
  readonly limits: Limits;
  /** Absent if the listener does not ask users this way. */
  readonly questions?: Questions | undefined;
  readonly log: Log;
  /** Sees every turn and its answer. */
  readonly clientTap?: ClientTap | undefined;
}

/** Creates the route that runs a turn and sends the answer, streamed or whole. */
export function turnRoute(options: TurnRouteOptions): Route {
  const { path, face, module, limits } = options;
  return {
    method: "POST",
    path,
    face: module,
    async handle(exchange, parameters) {
      const body = await readJson(exchange, limits);
      await answerTurn(
        options,
        face,
        { exchange, body, parameters },
        {
          openStream: (headers, form) => new EventStream(exchange, limits, headers, form),
          reply: (answer, headers) => exchange.reply(200, answer, headers),
        },
      );
    },
  };
}

export interface TurnRequest {
  readonly exchange: Exchange;
  readonly body: unknown;
  readonly parameters: PathParameters;
}

/** Parses a request, runs its turn and sends the answer. Throws errors from before the answer has begun. */
export async function answerTurn(
  service: TurnService,
  face: Face<StreamRenderer>,
  turn: TurnRequest,
  carrier: AnswerCarrier,
): Promise<void> {
  const tapped = service.clientTap?.open(turn.exchange, turn.body);
  if (!tapped) return answerUntapped(service, face, turn, carrier);
  let error: unknown;
  try {
    await answerUntapped(service, face, turn, tapCarrier(carrier, tapped));
  } catch (thrown) {
    error = thrown;
    throw thrown;
  } finally {
    const failed = turn.exchange.notes.error ?? (error === undefined ? undefined : turn.exchange.errorFrom(error));
    tapped.end(failed?.code ?? "ok");
  }
}

async function answerUntapped(
  service: TurnService,
  face: Face<StreamRenderer>,
  { exchange, body, parameters }: TurnRequest,
  carrier: AnswerCarrier,
): Promise<void> {
  const { engine, images, questions, log } = service;
  const { asker: principal, request, id: requestId, signal, recording } = exchange;
  const parsed = await face.parse(body, { ...requestContext(exchange, parameters, images), principal });
  exchange.notes.model = parsed.turn.model.id;
  const reply = parsed.isStream ? undefined : carrier.reply;
  try {
    signal.throwIfAborted();
    recording?.asks(parsed.turn);
    if (!reply) exchange.seat?.takeStream();
    const comments = new CommentWriter();
    const context = {
      requestId,
      signal: parsed.signal ? AbortSignal.any([signal, parsed.signal]) : signal,
      tools: toolSource(request),
      hops: hopsOf(request),
      trace: () => exchange.trace,
      observer: recording,
      meter: recording,
      elicit: !reply && asksUser(request) ? questions?.elicit(principal, (text) => comments.write(text)) : undefined,
    };
    const events = parsed.isUnasked ? emptyAnswer() : engine.run(parsed.turn, context);
    const batches = observe(events, parsed, exchange, log);
    if (reply) await answerWhole(exchange, parsed, batches, reply);
    else await answerStream(exchange, parsed, batches, { carrier, comments });
  } finally {
    parsed.end?.();
  }
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: false,
};

/** Returns the empty answer to a request that does not ask the model. */
async function* emptyAnswer(): AsyncGenerator<readonly TurnEvent[]> {
  yield [
    { type: "usage", usage: NO_USAGE },
    { type: "done", reason: "stop" },
  ];
}

const TOOLS_HEADER = "x-excursor-tools";

function toolSource({ headers }: IncomingMessage): ToolSource | undefined {
  const given = headers[TOOLS_HEADER];
  if (given === undefined || given === "hub" || given === "client") return given;
  throw new ExcursorError("invalid-request", `${TOOLS_HEADER}: expected hub or client.`, { field: TOOLS_HEADER });
}

/** Writes comments into the stream while there is one. */
class CommentWriter {
  stream: AnswerOutlet | undefined;

  write(comment: string): boolean {
    this.stream?.write(comment);
    return this.stream !== undefined;
  }
}

async function answerStream(
  exchange: Exchange,
  parsed: ParsedRequest<StreamRenderer>,
  batches: Batches,
  { carrier, comments }: { readonly carrier: AnswerCarrier; readonly comments: CommentWriter },
): Promise<void> {
  const renderer = parsed.stream();
  const stream = carrier.openStream(batches.headers, renderer);
  if (stream.hasComments) comments.stream = stream;
  try {
    // The last piece goes out with the end of the response.
    let last: string | Uint8Array = "";
    for await (const events of batches.source) {
      batches.see(events);
      const piece = renderer.step(events);
      const whole = typeof piece === "string" && stream.hasComments ? commentOf(events) + piece : piece;
      if (events.at(-1)?.type === "done") last = whole;
      else if (whole.length > 0 && !stream.write(whole)) await stream.drained();
      if (exchange.signal.aborted) break;
    }
    exchange.signal.throwIfAborted();
    batches.checkEnd();
    await parsed.stored?.();
    stream.end(last);
  } catch (thrown) {
    if (!stream.hasBegun) throw thrown;
    const error = exchange.errorFrom(thrown);
    exchange.notes.error = error;
    stream.end(failure(renderer, error, exchange));
  } finally {
    comments.stream = undefined;
    stream.stop();
  }
}

/** Returns the last piece of a failed stream. Redacts before rendering, since bytes cannot be redacted afterwards. */
function failure(renderer: StreamRenderer, error: ExcursorError, { id, redact }: Exchange): string | Uint8Array {
  const { message, field, hint, hasOwnHint } = error;
  const shown = error.with({
    message: redact(message),
    ...(field !== undefined && { field: redact(field) }),
    ...(hasOwnHint && hint !== undefined && { hint: redact(hint) }),
  });
  const piece = renderer.fail(shown, id);
  return typeof piece === "string" ? redact(piece) : piece;
}

/** Returns the hub's notices as comments, which clients of every dialect ignore. */
function commentOf(events: readonly TurnEvent[]): string {
  let comments = "";
  for (const event of events) {
    if (event.type !== "notice" || !HUB_NOTICES.has(event.code)) continue;
    comments += `: ${event.text.replace(/\s+/g, " ")}\n\n`;
  }
  return comments;
}

/** True if the client can ask its user questions. */
function asksUser({ headers }: IncomingMessage): boolean {
  return headers[ASKS_HEADER] !== undefined;
}

async function answerWhole(
  exchange: Exchange,
  parsed: ParsedRequest<StreamRenderer>,
  batches: Batches,
  reply: NonNullable<AnswerCarrier["reply"]>,
): Promise<void> {
  const collector = parsed.collect();
  for await (const events of batches.source) {
    batches.see(events);
    collector.step(events);
    if (exchange.signal.aborted) break;
  }
  exchange.signal.throwIfAborted();
  batches.checkEnd();
  const body = collector.body();
  await parsed.stored?.();
  reply(body, batches.headers());
}

interface Batches {
  readonly source: AsyncIterable<readonly TurnEvent[]>;
  /** Records what the log line and the headers need. */
  see(events: readonly TurnEvent[]): void;
  /** Returns the response headers, as far as they are known. */
  headers(): Readonly<Record<string, string>>;
  /** Throws if the answer ended without `done`. */
  checkEnd(): void;
}

function observe(
  source: AsyncIterable<readonly TurnEvent[]>,
  parsed: ParsedRequest<StreamRenderer>,
  exchange: Exchange,
  log: Log,
): Batches {
  const ignored = new Set(parsed.ignored);
  const { notes } = exchange;
  let answeredBy: string | undefined;
  let trimmed: string | undefined;
  let isDone = false;
  return {
    source,
    see(events) {
      // Notices come before the upstream has answered.
      if (notes.firstEventMs === undefined && events.some(({ type }) => type !== "notice")) {
        notes.firstEventMs = performance.now() - exchange.startedAt;
        // An event of the upstream means that it accepted the token.
        exchange.unverified?.accept();
      }
      for (const event of events) {
        if (event.type === "text") continue;
        if (event.type === "usage") notes.usage = event.usage;
        else if (event.type === "done") isDone = true;
        else if (event.type === "notice" && event.code === IGNORED)
          ignored.add(parsed.fields?.[event.text] ?? event.text);
        else if (event.type === "notice" && event.code === ANSWERED_BY) answeredBy = event.text;
        else if (event.type === "notice" && event.code === TRIMMED) trimmed = event.text;
        else if (event.type === "notice" && !HUB_NOTICES.has(event.code))
          log.info({ requestId: exchange.id, code: event.code }, event.text);
      }
    },
    headers: () => ({
      ...ignoredHeader([...ignored]),
      ...answeredByHeader(answeredBy),
      ...(trimmed !== undefined && { "x-excursor-trimmed": trimmed }),
    }),
    checkEnd() {
      if (!isDone) throw new ExcursorError("answer_broke_off");
    },
  };
}

/** Names the parts of the request that had no effect. */
function ignoredHeader(ignored: readonly string[]): Readonly<Record<string, string>> {
  if (ignored.length === 0) return {};
  return { "x-excursor-ignored": ignored.map((name) => name.replace(/[^\w.[\]-]/g, "_")).join(", ") };
}

const answeredByHeader = (model: string | undefined): Readonly<Record<string, string>> =>
  model === undefined ? {} : { "x-excursor-model": model.replace(/[^\x21-\x7e]/g, "_") };
