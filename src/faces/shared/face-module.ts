import type { ModelInfo, SlashCommand } from "../../core/driver.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { ResponseStore } from "../../core/history/stored-responses.ts";
import type { PassedApi } from "../../core/passed-request.ts";
import type { Secret } from "../../core/secret.ts";
import type { ThinkingStyle, Thoughts } from "../../core/thinking/thoughts.ts";
import type { JsonValue, Principal } from "../../core/turn.ts";
import type { ErrorBody, Face, ImageLoader, ParseContext, StreamRenderer } from "./face.ts";
import type { RequestLimits } from "./request-limits.ts";

/**
 * One public dialect, as the server mounts it: its name, errors and routes.
 *
 * A face is a folder in `src/faces` whose `index.ts` exports a FaceModule, and a line in `src/app/faces.ts`. Nothing
 * else knows it by name. It may import `core` and `faces/shared`, but no other face, no driver and not the server.
 * docs/adding-a-face.md shows a complete one.
 *
 * The server does what all faces share: the gate (Host, Origin, key), limits, reading bodies, keep-alives,
 * back-pressure, cancelling when the client disconnects, and the log. A face never sees an HTTP request or response.
 */
export interface FaceModule {
  /** The name of its folder. */
  readonly name: string;
  /**
   * Recognises a request of this dialect by its headers (names in lower case). Needed if several faces have the same
   * path, such as `/v1/models`, and for the error body of an unknown path. Absent: the face gets requests that no other
   * one recognises, if it is listed first.
   */
  readonly isSpokenBy?: (headers: FaceHeaders) => boolean;
  /**
   * Where a key of this dialect may stand, beside `Authorization: Bearer` and `x-api-key`, which all faces accept. The
   * server reads the key and removes it: a face never sees it.
   */
  readonly credentials?: readonly CredentialPlace[];
  /**
   * Returns an error in this dialect. Used for every error before the response has begun. A request that HTTP itself refuses, such
   * as for its method, gives its own status.
   */
  error(error: ExcursorError, requestId: string, status?: number): ErrorBody;
  /** Returns the face's routes. Called once for each listener that the face is mounted on. */
  routes(context: FaceContext): readonly FaceRoute[];
}

/** A header (in lower case) or a query parameter. Prefer headers: proxies and other servers log URLs. */
export type CredentialPlace = { readonly header: string } | { readonly query: string };

/**
 * A face that has no routes: its clients need a listener or a stream of their own, which a starter opens. It is listed in
 * `src/app/faces.ts` as well. Every command loads that list, so `index.ts` stays small, and {@link open} imports the face.
 */
export interface CarriedFace<Parts, Opened> {
  /** The name of its folder. */
  readonly name: string;
  /** `connect`: a listener for Connect over both versions of HTTP. `stdio`: stdin and stdout of the process. */
  readonly carrier: "connect" | "stdio";
  open(parts: Parts): Promise<Opened>;
}

/** The faces of one listener. */
export type FaceModules = readonly [FaceModule, ...FaceModule[]];

type FaceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One method and path of a dialect. */
export type FaceRoute = TurnRoute | CallRoute | SocketRoute | PassRoute;

/**
 * A request to a model: JSON body → {@link Face.parse} → `Turn` → engine → events, streamed or as one answer.
 * The method is always POST.
 */
interface TurnRoute {
  readonly type: "turn";
  readonly path: RoutePath;
  readonly face: Face<StreamRenderer>;
}

/** A POST that is passed on to the model's upstream, and answered as the upstream does. */
export interface PassRoute {
  readonly type: "pass";
  readonly path: RoutePath;
  readonly api: PassedApi;
}

/** A WebSocket. Each message of the client is a request to a model; they are answered one at a time. */
export interface SocketRoute {
  readonly type: "socket";
  readonly path: RoutePath;
  /** Called once for each connection. */
  open(): SocketDialect;
}

/** The dialect of one connection. It may remember what lives as long as the connection. */
export interface SocketDialect {
  /** Its renderers write server-sent events with one line of data each; each event is sent as a message. */
  readonly face: Face;
  /** Returns the message for an error from before the answer has begun. */
  error(error: ErrorBody, requestId: string): string;
  /** Releases what it remembers: the connection is closed. */
  close?(): void;
}

/** A request that runs no model and is answered with one JSON value: lists of models, token counts, stored answers. */
export interface CallRoute {
  readonly type: "call";
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: RoutePath;
  /** True if it needs no key. Such a route must reveal nothing about the user. */
  readonly isOpen?: boolean;
  /** Errors are thrown, and formatted by {@link FaceModule.error}. */
  handle(request: FaceRequest): Promise<FaceReply> | FaceReply;
}

/**
 * A path with at most one `{name}`, which matches one or more characters, slashes included, percent-decoded:
 * `/v1/models/{id}`, `/v1beta/models/{model}:generateContent`. An exact path wins, then the pattern with the longest
 * literal text.
 */
export type RoutePath = string;

/** A request to a {@link CallRoute}, as far as a face may see it. */
export interface FaceRequest extends ParseContext {
  /** Throws on an open route if the request has no key. */
  readonly principal: Principal;
  /** The body as JSON, read within the limits; undefined unless the method is POST. */
  readonly body: unknown;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

interface FaceReply {
  /** Default: 200. */
  readonly status?: number;
  readonly body: JsonValue;
}

/** What a face gets when it is mounted. */
export interface FaceContext {
  readonly engine: FaceEngine;
  readonly images: ImageLoader;
  readonly limits: RequestLimits;
  readonly stores: FaceStores;
  readonly settings: FaceSettings;
  /** When the process started. Serves as the date of things without one. */
  readonly startedAt: Date;
  readonly log: FaceLog;
}

/** The engine's list of models. Turns are run by the server. */
export interface FaceEngine {
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Throws `model-not-found`. */
  findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
}

/** Persistent stores. A failed write is dropped, not thrown. */
interface FaceStores {
  readonly thoughts: Thoughts;
  readonly responses: ResponseStore;
  /** Texts by key. Each face uses its own spaces. */
  keyValues(space: string): KeyValues;
  /** Seals what a client brings back later, perhaps to another process with the same key. */
  readonly sealSecret: Secret;
}

export interface KeyValues {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
}

interface FaceSettings {
  /** How thinking is shown in a dialect without a field for it. Unset: chosen by the client. */
  readonly thinking?: ThinkingStyle | undefined;
}

/** Never log prompts or answers. */
interface FaceLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
