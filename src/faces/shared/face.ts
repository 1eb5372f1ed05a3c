import type { Awaitable } from "../../core/awaitable.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { ImagePart, JsonObject, Principal, Turn } from "../../core/turn.ts";

/**
 * The turns of one dialect: converts a request to a {@link Turn}, and events to the dialect's answer. It knows neither
 * HTTP nor drivers, and does no I/O except loading images.
 */
export interface Face<Stream extends StreamRenderer = TextRenderer> {
  /** Parses a JSON body. Throws `invalid-request` with the field and what was expected. */
  parse(body: unknown, context: ParseContext): Promise<ParsedRequest<Stream>>;
}

export interface ParseContext {
  readonly principal: Principal;
  readonly requestId: string;
  readonly images: ImageLoader;
  /** The parameters of the route's path, percent-decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Returns a header by its name in lower case; undefined for those that hold secrets. */
  header(name: string): string | undefined;
}

/** Loads images from data URLs, or by a guarded fetch. Checks type and size. */
export interface ImageLoader {
  load(url: string): Promise<ImagePart>;
}

export interface ParsedRequest<Stream extends StreamRenderer = TextRenderer> {
  readonly turn: Turn;
  readonly isStream: boolean;
  /** True if the model is not asked, as by a request that only warms up. The answer is empty. */
  readonly isUnasked?: boolean;
  /** Fields that were accepted but have no effect. Listed to the client in a response header. */
  readonly ignored: readonly string[];
  /** The dialect's names for fields that a turn names differently, such as `effort`. Used in that header. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Aborted when another request cancels this one. */
  readonly signal?: AbortSignal;
  /** Called once when the answer is over, for whatever reason. */
  readonly end?: () => void;
  /** Returns when what the client may refer to later is stored. It is waited for before the end of the answer is sent. */
  readonly stored?: () => Awaitable<void>;
  /** The server calls one of the two. */
  stream(): Stream;
  collect(): AnswerCollector;
}

/** Renders a streamed answer, as text or as bytes. */
export type StreamRenderer = TextRenderer | ByteRenderer;

export interface TextRenderer extends Renderer<string> {
  /** Absent: server-sent events, which have comments. */
  readonly contentType?: string;
}

export interface ByteRenderer extends Renderer<Uint8Array> {
  readonly contentType: string;
}

interface Renderer<Piece> {
  /** Sent after a silence. Absent: a comment in server-sent events, nothing in other streams. */
  readonly keepAlive?: Piece;
  /** Returns the output for these events, possibly empty. After `done` it includes the end of the stream. */
  step(events: readonly TurnEvent[]): Piece;
  /** Returns the dialect's error. The stream ends after it, without any sign of success. */
  fail(error: ExcursorError, requestId: string): Piece;
}

/** Collects an answer that is sent whole. */
export interface AnswerCollector {
  step(events: readonly TurnEvent[]): void;
  /** Returns the body. Called after `done`. */
  body(): JsonObject;
}

export interface ErrorBody {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}
