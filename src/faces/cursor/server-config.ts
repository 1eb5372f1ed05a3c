import { hash } from "node:crypto";
import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { BoundedMap } from "../../core/bounded-map.ts";
import {
  type GetServerConfigResponse,
  GetServerConfigResponseSchema,
  ServerConfigService,
} from "../../gen/aiserver/v1/server_config_pb.ts";
import { trustedAgentOrigin } from "../../wire/agent/agent-origin.ts";
import { withoutAgentHosts } from "../../wire/agent/without-agent-hosts.ts";
import { callUnary } from "../../wire/connect/unary.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { bearerOf } from "./callers.ts";
import type { Backend } from "./relay.ts";
import { callWhole } from "./whole-call.ts";

const MAX_KNOWN = 1000;

interface AgentOrigins {
  readonly ghost: string | undefined;
  readonly open: string | undefined;
}

interface Known {
  readonly until: number;
  readonly origins: Promise<AgentOrigins>;
}

/** How long an answer of the backend to us holds, and how long we wait for it. */
const KNOWN_MS = 60 * 60_000;
const UNKNOWN_MS = 60_000;
const ASK_TIMEOUT_MS = 5000;

const NONE: AgentOrigins = { ghost: undefined, open: undefined };

/**
 * Answers `GetServerConfig` without the hosts that the backend names for agent calls. The client so stays with this face,
 * and nothing of our address is in an answer that the CLI keeps on disk. Agent calls over HTTP/2 then go to the named
 * host; those hosts do not speak HTTP/1.1. For a login that has not asked here, the backend is asked with that login: the
 * CLI keeps its answer, and the official client gets a new token for each of its parts.
 */
export class ServerConfigs {
  readonly #backend: Backend;
  readonly #isTrusted: (url: string) => string | undefined;
  readonly #known = new BoundedMap<string, Known>(MAX_KNOWN);

  /** `isTrusted` returns the origin of a URL that may get a caller's token. */
  constructor(backend: Backend, isTrusted: (url: string) => string | undefined = trustedAgentOrigin) {
    this.#backend = backend;
    this.#isTrusted = isTrusted;
  }

  async answer(exchange: ServerExchange): Promise<void> {
    const answer = await callWhole(exchange, this.#backend);
    if (answer.status !== 200) {
      answer.respond();
      return;
    }
    answer.respond(this.#withoutHosts(exchange, answer.body));
  }

  /** Returns undefined for an answer that cannot be read: then the client gets it as it is. */
  #withoutHosts(exchange: ServerExchange, body: Buffer): Uint8Array | undefined {
    const isJson = mediaType(exchange.header("content-type")) === "application/json";
    try {
      this.#learn(exchange, body, isJson);
      return withoutAgentHosts(body, isJson);
    } catch {
      return undefined;
    }
  }

  /** Returns where a request goes. */
  async backendFor(exchange: ServerExchange): Promise<Backend> {
    if (exchange.transport !== "h2" || !exchange.path.startsWith("/agent.v1.AgentService/")) return this.#backend;
    const token = bearerOf(exchange);
    if (token === undefined) return this.#backend;
    const known = this.#known.get(keyOf(exchange));
    const { ghost, open } = await (known && known.until > Date.now() ? known.origins : this.#ask(exchange, token));
    const origin = exchange.header("x-ghost-mode") === "false" ? open : ghost;
    return origin === undefined ? this.#backend : { ...this.#backend, origin };
  }

  #ask(exchange: ServerExchange, token: string): Promise<AgentOrigins> {
    const { origin, transports } = this.#backend;
    const key = keyOf(exchange);
    const asked = callUnary({
      transport: transports.h1,
      origin,
      headers: { authorization: `Bearer ${token}`, "connect-protocol-version": "1" },
      method: ServerConfigService.method.getServerConfig,
      input: {},
      codec: "proto",
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
    }).then(
      (config) => this.#originsOf(config),
      // The call itself gets the backend's error, if it has one.
      () => {
        this.#remember(key, Promise.resolve(NONE), UNKNOWN_MS);
        return NONE;
      },
    );
    this.#remember(key, asked, KNOWN_MS);
    return asked;
  }

  #learn(exchange: ServerExchange, body: Buffer, isJson: boolean): void {
    const config = isJson
      ? fromJsonString(GetServerConfigResponseSchema, body.toString("utf8"), { ignoreUnknownFields: true })
      : fromBinary(GetServerConfigResponseSchema, body);
    this.#remember(keyOf(exchange), Promise.resolve(this.#originsOf(config)), KNOWN_MS);
  }

  #originsOf({ useNlbForNal: isUsed, agentUrlConfig: urls }: GetServerConfigResponse): AgentOrigins {
    return isUsed && urls ? { ghost: this.#isTrusted(urls.agentUrl), open: this.#isTrusted(urls.agentnUrl) } : NONE;
  }

  #remember(key: string, origins: Promise<AgentOrigins>, forMs: number): void {
    this.#known.set(key, { until: Date.now() + forMs, origins });
  }
}

const keyOf = (exchange: ServerExchange): string => hash("sha256", bearerOf(exchange) ?? "", "base64url");
