import type { ModelInfo, SlashCommand } from "../../core/driver.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { ThinkingStyle, Thoughts } from "../../core/thinking/thoughts.ts";
import type { JsonValue, Principal } from "../../core/turn.ts";
import type { ResponseStore } from "../shared/response-store.ts";
import type { ErrorBody, Face, ImageLoader, ParseContext, StreamRenderer } from "./face.ts";
import type { RequestLimits } from "./request-limits.ts";

/**
 * One public dialect as the server mounts it: what it is called and which requests it answers.
 *
 * A face is a folder in `src/faces` whose `index.ts` exports one of these, and a line in `src/app/faces.ts`. Nothing else
 * of the project knows it by name. It may import `core` and `faces/shared`, and neither another face nor a driver nor
 * the server. docs/adding-a-face.md shows a whole one.
 *
 * The server does everything that is the same for all faces: the gate (Host, Origin, key), limits, reading bodies,
 * keep-alives, back-pressure, cancelling when the client leaves, and the log. A face never sees an HTTP request or response.
 */
export interface FaceModule {
  /** The name of its folder. */
  readonly name: string;
  /**
   * Recognises a request of this dialect by its headers (names in lower case). Needed where several faces have the same
   * path, such as `/v1/models`, and for the error body of a path that no face has. Absent: the face takes what no other
   * one recognises, if it is listed first.
   */
  readonly isSpokenBy?: (headers: FaceHeaders) => boolean;
  /**
   * Where a key of this dialect may stand beside `Authorization: Bearer` and `x-api-key`, which every face takes. The
   * server reads it there and takes it out of the request: a face never sees a key.
   */
  readonly credentials?: readonly CredentialPlace[];
  /** Returns an error as this dialect writes it. Used for every error before the response has begun. */
  error(error: ExcursorError, requestId: string): ErrorBody;
  /** Returns what can be asked for. Called once for each listener that the face is mounted on. */
  routes(context: FaceContext): readonly FaceRoute[];
}

/** A header, in lower case, or a parameter of the query. Prefer headers: others log URLs, and we do not. */
export type CredentialPlace = { readonly header: string } | { readonly query: string };

/** The faces of one listener. */
export type FaceModules = readonly [FaceModule, ...FaceModule[]];

type FaceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One method and path of a dialect. What is in no route does not exist. */
export type FaceRoute = TurnRoute | CallRoute;

/**
 * A request to a model: JSON body → {@link Face.parse} → `Turn` → engine → events, streamed or as one answer.
 * The method is always POST.
 */
interface TurnRoute {
  readonly type: "turn";
  readonly path: RoutePath;
  readonly face: Face<StreamRenderer>;
}

/** A request that is answered with one JSON value and runs no model: lists of models, token counts, stored answers. */
export interface CallRoute {
  readonly type: "call";
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: RoutePath;
  /** Whether it needs no key. Such a route must tell nothing about the user. */
  readonly isOpen?: boolean;
  /** Throws `ExcursorError`s, which {@link FaceModule.error} writes. */
  handle(request: FaceRequest): Promise<FaceReply> | FaceReply;
}

/**
 * An exact path. At most one `{name}` in it stands for one or more characters, slashes included, percent-decoded:
 * `/v1/models/{id}`, `/v1beta/models/{model}:generateContent`. Of several paths that fit, the one with the longest
 * literal text is taken, an exact one before all others.
 */
export type RoutePath = string;

/** A request to a {@link CallRoute}, and all that a face may know of it. */
export interface FaceRequest extends ParseContext {
  /** Throws on an open route if the request has no key. */
  readonly principal: Principal;
  /** The body as JSON, read within the limits; undefined unless the method is POST. */
  readonly body: unknown;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
}

interface FaceReply {
  /** Default: 200. */
  readonly status?: number;
  readonly body: JsonValue;
}

/** What a face is given when it is mounted. */
export interface FaceContext {
  readonly engine: FaceEngine;
  readonly images: ImageLoader;
  readonly limits: RequestLimits;
  readonly stores: FaceStores;
  readonly settings: FaceSettings;
  /** When the process began; a date for what has none of its own. */
  readonly startedAt: Date;
  readonly log: FaceLog;
}

/** What the engine tells about models. Turns are run by the server. */
export interface FaceEngine {
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Throws `model-not-found`. */
  findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
}

/** What outlives the process. A store that cannot write forgets instead of failing. */
interface FaceStores {
  readonly thoughts: Thoughts;
  readonly responses: ResponseStore;
  /** Texts by key. Each face uses spaces of its own. */
  keyValues(space: string): KeyValues;
}

export interface KeyValues {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
}

interface FaceSettings {
  /** How thinking is written in a dialect without a place for it; unset: as the client seems to know it. */
  readonly thinking?: ThinkingStyle | undefined;
}

/** Facts first, then what they are about. Never prompt text, never an answer. */
interface FaceLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
