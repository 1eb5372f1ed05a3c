import { BoundedMap } from "../../../core/bounded-map.ts";
import { DashboardService, PrivacyMode } from "../../../gen/aiserver/v1/dashboard_pb.ts";
import { Http2Config, ServerConfigService } from "../../../gen/aiserver/v1/server_config_pb.ts";
import { trustedAgentOrigin } from "../../../wire/agent/agent-origin.ts";
import { type Caller, callHeaders } from "../../../wire/agent/headers.ts";
import { callUnary } from "../../../wire/connect/unary.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";

/** Where and how an account's runs are sent. */
export interface Endpoint {
  readonly origin: string;
  readonly transport: "h2" | "h1";
  /** Privacy mode: nothing is stored or used for training. On unless the account is known to have it off. */
  readonly ghostMode: boolean;
}

export interface EndpointOptions {
  /** The backend of the settings, which is asked for configuration, models and accounts. */
  readonly origin: string;
  /** Overrides the backend's choice of the host for runs. */
  readonly agentOrigin?: string | undefined;
  readonly http1: HttpTransport;
  /** `auto` leaves the choice to the backend. */
  readonly transport: "auto" | "h2" | "h1";
  readonly ttlMs?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Asks the backend where and how to send an account's runs, and caches the answer. */
export class Endpoints {
  readonly #options: EndpointOptions;
  readonly #known = new BoundedMap<string, { readonly until: number; readonly endpoint: Promise<Endpoint> }>(
    MAX_ACCOUNTS,
  );

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  find(accountKey: string, caller: Caller): Promise<Endpoint> {
    const { now = () => performance.now(), ttlMs = 10 * 60_000 } = this.#options;
    const known = this.#known.get(accountKey);
    if (known && known.until > now()) return known.endpoint;
    const answer = this.#ask(caller);
    const endpoint = answer.then((found) => found.endpoint);
    const entry = { until: now() + ttlMs, endpoint };
    this.#known.set(accountKey, entry);
    // Defaults after a failed call are shared by concurrent callers, but not cached.
    void answer.then(({ isTold }) => {
      if (!isTold && this.#known.get(accountKey) === entry) this.#known.delete(accountKey);
    });
    return endpoint;
  }

  async #ask(caller: Caller): Promise<{ readonly endpoint: Endpoint; readonly isTold: boolean }> {
    const { origin, http1: transport } = this.#options;
    const call = { transport, origin, headers: callHeaders("unary-proto", caller), timeoutMs: 10_000 };
    // Neither call may fail a request: without an answer the defaults are the careful ones.
    const [config, privacy] = await Promise.all([
      callUnary({ ...call, method: ServerConfigService.method.getServerConfig, input: {} }).catch(() => undefined),
      callUnary({ ...call, method: DashboardService.method.getUserPrivacyMode, input: {} }).catch(() => undefined),
    ]);
    const ghostMode = !OPEN_MODES.includes(privacy?.privacyMode ?? PrivacyMode.UNSPECIFIED);
    const { agentUrl = "", agentnUrl = "" } = config?.agentUrlConfig ?? {};
    const chosen = this.#choose(config?.http2Config);
    // The hosts named for runs refuse HTTP/1.1.
    const isNamed = config?.useNlbForNal && chosen === "h2";
    const named = isNamed ? trustedAgentOrigin(ghostMode ? agentUrl : agentnUrl) : undefined;
    const runOrigin = this.#options.agentOrigin ?? named ?? origin;
    const endpoint = { origin: runOrigin, transport: chosen, ghostMode };
    return { endpoint, isTold: config !== undefined && privacy !== undefined };
  }

  #choose(config: Http2Config = Http2Config.UNSPECIFIED): "h2" | "h1" {
    const { transport } = this.#options;
    if (transport !== "auto") return transport;
    return config === Http2Config.FORCE_ALL_DISABLED || config === Http2Config.FORCE_BIDI_DISABLED ? "h1" : "h2";
  }
}

const MAX_ACCOUNTS = 1000;

const OPEN_MODES: readonly PrivacyMode[] = [
  PrivacyMode.USAGE_DATA_TRAINING_ALLOWED,
  PrivacyMode.USAGE_CODEBASE_TRAINING_ALLOWED,
];
