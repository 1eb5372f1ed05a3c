import { BoundedMap } from "../core/bounded-map.ts";
import { ExcursorError } from "../core/errors.ts";
import { Rendezvous } from "../wire/agent/rendezvous.ts";
import { UnknownCalls } from "../wire/agent/unknown-calls.ts";
import { ConnectFailure } from "../wire/connect/connect-failure.ts";
import type { Backend, Route, Routes } from "./backend.ts";
import { CassettePlayer } from "./cassette/cassette-player.ts";
import { serveCassette } from "./cassette/serve-cassette.ts";
import { Charges } from "./charges.ts";
import { endpointRoutes } from "./endpoints/index.ts";
import { streamChatRoutes } from "./legacy/stream-chat.ts";
import { unifiedRoutes } from "./legacy/unified-run.ts";
import { listen } from "./listener.ts";
import { SIM_DEFAULTS, type SimOptions } from "./options.ts";
import { ResetCounter, type ResetStats } from "./reset-counter.ts";
import { failureFrom, respondFailure } from "./rpc.ts";
import { runRoutes } from "./run/routes.ts";
import { Tally } from "./script/tally.ts";
import type { SimExchange } from "./sim-exchange.ts";

export interface Simulator {
  readonly url: string;
  readonly port: number;
  stats(): SimStats;
  /** Lets open requests finish within the given time. */
  close(graceMs?: number): Promise<void>;
}

/** Resets are counted only if {@link SimOptions.maxResets} is set. */
export interface SimStats extends ResetStats {
  /** Runs and chats that have not ended. */
  readonly openRuns: number;
  /** Calls that no list names. */
  readonly unknownCalls: number;
}

const ROUTES: Routes = { ...endpointRoutes, ...runRoutes, ...streamChatRoutes, ...unifiedRoutes };

export async function startSim(options: Partial<SimOptions> = {}): Promise<Simulator> {
  const settings: SimOptions = { ...SIM_DEFAULTS, ...options };
  const backend: Backend = {
    options: settings,
    tally: new Tally(),
    rendezvous: new Rendezvous(),
    openRuns: new Set(),
    logins: new BoundedMap(1000),
    polls: new BoundedMap(1000),
    families: new BoundedMap(10_000),
    charges: new Charges(),
    unknown: new UnknownCalls(settings.onUnknownCall ?? (() => {})),
    unknownCalls: 0,
  };
  const { cassette, onLeave = () => {} } = settings;
  const play = cassette && serveCassette(new CassettePlayer(cassette, onLeave));
  const resets = createResetCounter(settings);
  const listener = await listen({
    port: settings.port,
    tls: settings.tls,
    resets,
    onExchange: (exchange) => void dispatch(exchange, backend, play),
  });
  return {
    url: `${settings.tls ? "https" : "http"}://127.0.0.1:${listener.port}`,
    port: listener.port,
    stats: () => ({
      ...(resets?.stats() ?? NO_RESETS),
      openRuns: backend.openRuns.size,
      unknownCalls: backend.unknownCalls,
    }),
    async close(graceMs = 0) {
      const drained = listener.close();
      const timer = setTimeout(() => listener.destroy(), graceMs);
      await drained;
      clearTimeout(timer);
    },
  };
}

const NO_RESETS: ResetStats = { connections: 0, resets: 0, mostResets: 0, connectionsCut: 0 };

function createResetCounter({ maxResets, tls }: SimOptions): ResetCounter | undefined {
  if (maxResets === undefined) return undefined;
  if (!tls) return new ResetCounter(maxResets);
  throw new ExcursorError("config", "--max-resets cannot be used with TLS.", {
    hint: "Resets are counted on plain connections only: leave out --tls-cert and --tls-key.",
  });
}

async function dispatch(exchange: SimExchange, backend: Backend, play: Route | undefined): Promise<void> {
  try {
    if (isForeignPage(exchange.header("origin"))) {
      exchange.respondJson(403, { code: "permission_denied", message: "Pages of other sites are not served." });
      return;
    }
    const route = play ?? findRoute(exchange);
    backend.options.trace?.({
      t: Date.now(),
      run: exchange.header("x-request-id") ?? "",
      transport: exchange.transport,
      dir: "in",
      kind: "request",
      message: { method: exchange.method, path: exchange.path },
    });
    checkVersion(exchange, backend.options);
    if (route) await route(exchange, backend);
    else await respondUnknown(exchange, backend);
  } catch (error) {
    respondFailure(exchange, failureFrom(error));
  }
}

/** Cursor's clients end at a 404, so a newer one gets an empty message. */
async function respondUnknown(exchange: SimExchange, backend: Backend): Promise<void> {
  const { path } = exchange;
  backend.unknownCalls++;
  const outcome = await backend.unknown.answer(exchange);
  if (outcome === "would-change") throw new ConnectFailure("permission_denied", `${path} would change the account.`);
  if (outcome === "not-unary")
    exchange.respondJson(404, { code: "unimplemented", message: `There is no ${path} here.` });
}

/** The real backend gives no reason, either. */
function checkVersion(exchange: SimExchange, { minClientVersion }: SimOptions): void {
  const version = exchange.header("x-cursor-client-version") ?? "";
  if (minClientVersion === undefined || !exchange.path.startsWith("/agent.v1.")) return;
  if (version.startsWith("cli-") && version.slice(0, minClientVersion.length) < minClientVersion)
    throw new ConnectFailure("permission_denied", "Error");
}

function findRoute({ method, path }: SimExchange): Route | undefined {
  const key = `${method} ${path}`;
  const wildcard = Object.keys(ROUTES).find((route) => route.endsWith("*") && key.startsWith(route.slice(0, -1)));
  return ROUTES[key] ?? (wildcard === undefined ? undefined : ROUTES[wildcard]);
}

/** True for pages of other sites: any page in the user's browser can reach loopback. */
function isForeignPage(origin: string | undefined): boolean {
  return origin !== undefined && !/^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
}
