import type { Limits } from "../config/limits.ts";
import type { TraceSource } from "../core/http/trace-context.ts";
import type { Secret } from "../core/secret.ts";
import type { FaceContext, FaceModules } from "../faces/shared/face-module.ts";
import type { MetricsPage } from "../metrics/metrics.ts";
import type { Log } from "../observe/log.ts";
import type { Redactor } from "../observe/redactor.ts";
import type { UsageRecorder } from "../usage/record/usage-recorder.ts";
import type { Admission } from "./gate/admission.ts";
import type { KnownKeys } from "./gate/keys/known-keys.ts";
import type { PageAccess } from "./gate/page-access.ts";
import type { ServerView } from "./live-requests.ts";
import type { ClientTap } from "./routes/client-tap.ts";
import type { DoorFacts } from "./routes/door-route.ts";
import type { Readiness } from "./routes/health-routes.ts";
import type { MetricsRouteOptions } from "./routes/metrics-route.ts";
import type { RequestPasser } from "./routes/pass-route.ts";
import type { Route } from "./routes/route.ts";
import type { TurnRunner } from "./routes/turn-route.ts";

export interface GatewayOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly key: Secret;
  readonly allowsTokens: boolean;
  /** Requests through a tunnel must have this at the start of their path. */
  readonly pathSecret?: Secret | undefined;
  /** Sent with our requests to other upstreams; a request that carries it is a loop and is refused. */
  readonly hopId?: string | undefined;
  /** The keys issued beside the owner's, and their usage. */
  readonly issued?: IssuedKeys | undefined;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Set if the listener serves one page and programs of the same user. */
  readonly page?: PageAccess | undefined;
  /** `off`: a client that asks for a WebSocket gets 426. */
  readonly websocket?: "on" | "off";
  /** Lets all programs of the same user in as the owner, and needs no key. */
  readonly trustsUser?: boolean | undefined;
  /** Absent: there is no door for the commands of this machine. */
  readonly door?: { readonly home: string; readonly facts: () => Omit<DoorFacts, "host" | "port"> } | undefined;
  readonly limits: Limits;
  /** The same for all listeners. */
  readonly admission: Admission;
  readonly engine: TurnRunner & RequestPasser;
  readonly faces: FaceModules;
  readonly faceContext: FaceContext;
  /** Records every request, but those to open routes. */
  readonly usage?: UsageRecorder | undefined;
  /** Absent: there is no `/metrics`. */
  readonly metricsRoute?: MetricsRouteOptions | undefined;
  /** Counts the load of this listener. */
  readonly metrics?: Pick<MetricsPage, "addServer"> | undefined;
  /** Begins the traces of requests. */
  readonly traces?: TraceSource | undefined;
  /** What `/readyz` says until the gateway closes. Absent: ready. */
  readonly readiness?: (() => Readiness) | undefined;
  /** Sees the turns of clients. */
  readonly clientTap?: ClientTap | undefined;
  /** Returns more routes, such as the dashboard's. */
  readonly moreRoutes?: ((server: ServerView) => readonly Route[]) | undefined;
  readonly log: Log;
  readonly redactor: Redactor;
}

interface IssuedKeys {
  readonly keys: KnownKeys;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Refuses new requests, lets answers finish for `graceMs`, cancels the others and closes. */
  close(graceMs?: number): Promise<void>;
}
