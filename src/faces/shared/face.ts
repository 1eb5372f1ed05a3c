import type { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { ImagePart, JsonObject, Principal, Turn } from "../../core/turn.ts";

/**
 * How one dialect asks models. It turns a request into a {@link Turn} and events into the dialect's answer, and knows
 * neither HTTP nor any driver. It does no I/O but for the images that it asks for.
 */
export interface Face {
  /** Reads a JSON body as a turn. Throws `invalid-request` naming the field and what was expected. */
  parse(body: unknown, context: ParseContext): Promise<ParsedRequest>;
}

export interface ParseContext {
  readonly principal: Principal;
  readonly requestId: string;
  readonly images: ImageLoader;
  /** The parameters of the route's path, percent-decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined;
}

/** Where the bytes behind an image's URL come from: a data URL, or a guarded fetch. Checked and bounded. */
export interface ImageLoader {
  load(url: string): Promise<ImagePart>;
}

export interface ParsedRequest {
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
  stream(): StreamRenderer;
  collect(): AnswerCollector;
}

/** Writes a streamed answer piece by piece. */
export interface StreamRenderer {
  /** What the pieces are. Absent: server-sent events. */
  readonly contentType?: string;
  /** What is sent after a silence, if the dialect has something of its own for that. Else a comment is. */
  readonly keepAlive?: string;
  /** The text for these events; may be empty. After `done` it holds all that ends the stream properly. */
  step(events: readonly TurnEvent[]): string;
  /** The dialect's error event, after which the stream just ends: no sign of success follows it. */
  fail(error: ExcursorError, requestId: string): string;
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
