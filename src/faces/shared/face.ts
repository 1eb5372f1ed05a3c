import type { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { ImagePart, JsonObject, Principal, Turn } from "../../core/turn.ts";

/**
 * How one dialect asks models. It turns a request into a {@link Turn} and events into the dialect's answer, and knows
 * neither HTTP nor any driver. It does no I/O but for the images that it asks for.
 */
export interface Face<Stream extends StreamRenderer = TextRenderer> {
  /** Reads a JSON body as a turn. Throws `invalid-request` naming the field and what was expected. */
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

/** Where the bytes behind an image's URL come from: a data URL, or a guarded fetch. Checked and bounded. */
export interface ImageLoader {
  load(url: string): Promise<ImagePart>;
}

export interface ParsedRequest<Stream extends StreamRenderer = TextRenderer> {
  readonly turn: Turn;
  readonly isStream: boolean;
  /** Fields that were understood and cannot be honoured; listed to the client in a response header. */
  readonly ignored: readonly string[];
  /** What this dialect calls what turns have another name for, such as `effort`: for that list. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Aborted when the client takes the request back by another one. */
  readonly signal?: AbortSignal;
  /** Called once when the answer is over, however it came to that. */
  readonly end?: () => void;
  /** How to write the answer, one of the two. */
  stream(): Stream;
  collect(): AnswerCollector;
}

/** Writes a streamed answer piece by piece: as text, or as bytes in a binary dialect. */
export type StreamRenderer = TextRenderer | ByteRenderer;

export interface TextRenderer extends Renderer<string> {
  /** Absent: server-sent events, which have comments. */
  readonly contentType?: string;
}

export interface ByteRenderer extends Renderer<Uint8Array> {
  readonly contentType: string;
}

interface Renderer<Piece> {
  /** What is sent after a silence. Absent: a comment in server-sent events, nothing in other streams. */
  readonly keepAlive?: Piece;
  /** Returns the piece for these events; may be empty. After `done` it holds all that ends the stream properly. */
  step(events: readonly TurnEvent[]): Piece;
  /** Returns the dialect's error, after which the stream just ends: no sign of success follows it. */
  fail(error: ExcursorError, requestId: string): Piece;
}

/** Gathers an answer that is sent whole. */
export interface AnswerCollector {
  step(events: readonly TurnEvent[]): void;
  /** The body, once `done` was seen. */
  body(): JsonObject;
}

export interface ErrorBody {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}
