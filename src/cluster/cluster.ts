import { createHmac } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Engine } from "../core/engine/engine.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { within } from "../core/within.ts";
import type { Log } from "../observe/log.ts";
import { SEND_COPIES } from "./copies/copy-stream.ts";
import { HubCopies, WANT_COPIES } from "./copies/hub-copies.ts";
import { ClusterKeys } from "./internal/cluster-keys.ts";
import { InternalClient } from "./internal/internal-client.ts";
import { type InternalListener, listenInternally } from "./internal/internal-listener.ts";
import { Membership } from "./nodes/membership.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import { ClusterPrompts } from "./prompts/cluster-prompts.ts";
import { WATCH_PROMPTS } from "./prompts/prompt-watch.ts";
import { QuestionRelay } from "./question-relay.ts";
import { Packing } from "./redis/packing.ts";
import { openRedisLink, type RedisLink } from "./redis/redis-link.ts";
import { ClusterRuns } from "./runs/cluster-runs.ts";
import { ForwardCounts } from "./turns/forward-counts.ts";
import { ForwardedMeters, type LateUsage } from "./turns/late-usage.ts";
import { serveTurns, type WatchForwarded } from "./turns/serve-turn.ts";
import { decodeTurn, type EncodedTurn } from "./turns/turn-message.ts";
import { withForwarding } from "./turns/with-forwarding.ts";

export interface ClusterOptions {
  readonly redis: Secret;
  readonly secret: Secret;
  readonly name: string;
  /** Absent: a free port on loopback. */
  readonly advertise: string | undefined;
  /** How long a request waits for Redis. */
  readonly redisMs?: number;
  readonly version: string;
  readonly log: Log;
}

interface JoinOptions {
  readonly engine: Engine;
  readonly watch: WatchForwarded;
  /** Returns the name of the driver that answers for a model. */
  readonly route: (model: string) => string | undefined;
}

/** The figures of a cluster, as one of its gateways sees it. */
interface ClusterView {
  readonly node: string;
  readonly isRedisUp: boolean;
  readonly redisFailures: number;
  readonly nodes: readonly NodeRecord[];
  readonly forwards: ForwardCounts["all"];
  /** Internal requests that were refused, by reason. */
  readonly refused: ReadonlyMap<string, number>;
}

/** This gateway's part in a cluster. */
export interface Cluster {
  readonly link: RedisLink;
  readonly log: Log;
  /** Returns how values are encrypted with the cluster's secret. Each purpose has a key of its own. */
  packing(purpose: string): Packing;
  /** Returns a secret that is the same on all gateways, one for each purpose. */
  secretFor(purpose: string): Secret;
  /** The tag that the ids of tool calls carry. */
  readonly tag: string;
  readonly questions: QuestionRelay;
  /** Questions of agents to the owner. */
  readonly prompts: ClusterPrompts;
  /** Runs whose requests reach different gateways. */
  readonly runs: ClusterRuns;
  /** Hub answers of all gateways, in memory. */
  readonly copies: HubCopies;
  /** Begins to take part. Returns the engine that forwards turns. Throws if this gateway cannot be reached by others. */
  join(options: JoinOptions): Promise<Engine>;
  view(): ClusterView;
  /** True if this gateway is about to stop. */
  readonly isDraining: boolean;
  /**
   * Has the other gateways answer new turns for so long, until the balancer sends none. If turns still arrive, it goes on, but
   * not longer than `moreMs`. No run is parked any more.
   */
  handOver(ms: number, moreMs: number): Promise<void>;
  /** Cuts that time short. */
  endHandOver(): void;
  /**
   * Leaves the cluster: takes no more turns of other gateways, and lets their answers finish for so long. Messages for runs of
   * Cursor's clients are taken until `runsOver` resolves, so that these runs can finish, too.
   */
  finish(ms: number, runsOver?: Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";

/** A gateway that is about to stop and gets no turn for so long is known as such to the balancer. */
const QUIET_MS = 1000;

/** Connects to the cluster's Redis and looks at the cluster. Throws errors that name the setting. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { log, advertise } = options;
  const keys = new ClusterKeys(options.secret);
  const link = await openRedisLink({ url: options.redis, log, askMs: options.redisMs });
  const counts = new ForwardCounts();
  const meters = new ForwardedMeters();
  const membership = new Membership({ ...options, link, keys, onJoined: (node) => void greet(node) });
  const client = new InternalClient(keys, membership.now);
  const questions = new QuestionRelay(membership, client);
  const prompts = new ClusterPrompts(membership, client);
  const runs = new ClusterRuns(link, client, membership, counts);
  const copies = new HubCopies(membership, client);
  let listener: InternalListener | undefined;
  let served: Engine | undefined;
  const handedOver = new AbortController();
  /** When the last turn arrived, by `performance.now()`. */
  let lastTurnAt = 0;

  /** Tells the user within seconds if another gateway cannot be reached from here. */
  const greet = async (node: NodeRecord) => {
    copies.welcome();
    try {
      await ping(client, node);
      log.info({ node: node.name, at: node.advertise }, "A gateway of the cluster is reached.");
    } catch (error) {
      const { message, hint } = ExcursorError.from(error);
      log.warn(
        { node: node.name, at: node.advertise, cause: message, hint },
        "A gateway of the cluster cannot be reached at its cluster.advertise. Its runs are replayed here instead.",
      );
    }
  };

  /** A gateway that is gone has no use for it. */
  const tellLate = async (tag: string, late: LateUsage) => {
    const receiver = await membership.find(tag);
    if (receiver) await client.ask(receiver, "late", late).catch(() => {});
  };

  try {
    await membership.look();
  } catch (error) {
    link.close();
    throw error;
  }
  return {
    link,
    log,
    runs,
    copies,
    packing: (purpose) => new Packing(options.secret, purpose),
    secretFor: (purpose) =>
      new Secret(createHmac("sha256", options.secret.reveal()).update(`excursor ${purpose}`).digest("base64url")),
    get tag() {
      return membership.tag;
    },
    questions,
    prompts,
    async join({ engine, watch, route }) {
      const serveTurn = serveTurns({ engine, watch, onServed: () => counts.add("served"), tellLate });
      const at = advertise === undefined ? undefined : new URL(advertise);
      listener = await listenInternally({
        host: at && !isLoopbackHost(at.hostname) ? undefined : LOOPBACK,
        port: at ? Number(at.port === "" ? 80 : at.port) : 0,
        keys,
        tag: membership.tag,
        now: membership.now,
        log,
        handlers: {
          ping: async (exchange) => exchange.send({ tag: membership.tag }),
          run: runs.handler,
          [SEND_COPIES]: copies.handler,
          [WANT_COPIES]: copies.wantHandler,
          turn: (...given) => link.serveRequest(() => serveTurn(...given)),
          answer: questions.handler,
          [WATCH_PROMPTS]: prompts.handler,
          async late(exchange) {
            for await (const message of exchange.messages()) meters.correct(message as LateUsage);
          },
          async refuse(exchange) {
            for await (const message of exchange.messages()) {
              const { turn, keepsRun } = message as { readonly turn: EncodedTurn; readonly keepsRun: boolean };
              engine.refuse(decodeTurn(turn), keepsRun);
            }
          },
        },
      });
      const address = at?.origin ?? `http://${LOOPBACK}:${listener.port}`;
      await checkAdvertise(client, membership.tag, address);
      served = engine;
      await membership.join(address, () => ({
        parkedRuns: engine.stats().parkedRuns,
        forwarded: counts.all.forwarded,
        served: counts.all.served,
      }));
      await copies.collect();
      const forwarding = withForwarding(engine, { targets: membership, client, counts, meters, route, log });
      return {
        ...forwarding,
        run(turn, context) {
          lastTurnAt = performance.now();
          return forwarding.run(turn, context);
        },
      };
    },
    view: () => ({
      node: membership.name,
      isRedisUp: link.isUp,
      redisFailures: link.failures,
      nodes: membership.nodes(),
      forwards: counts.all,
      refused: listener?.refused ?? new Map(),
    }),
    get isDraining() {
      return membership.isDraining;
    },
    async handOver(ms, moreMs) {
      served?.stopParking();
      await membership.drain();
      const { signal } = handedOver;
      const pause = (pauseMs: number) => wait(pauseMs, undefined, { signal }).catch(() => {});
      if (membership.pickOther()) await pause(ms);
      const deadline = performance.now() + moreMs;
      const isSentMore = () => performance.now() - lastTurnAt < QUIET_MS && performance.now() < deadline;
      while (ms > 0 && !signal.aborted && isSentMore() && membership.pickOther()) await pause(QUIET_MS / 4);
    },
    endHandOver: () => handedOver.abort(),
    async finish(ms, runsOver) {
      const left = (runsOver ? within(runsOver, ms) : Promise.resolve()).then(() => membership.leave());
      if (!runsOver) await left;
      prompts.stop();
      copies.leave();
      await Promise.all([left, listener?.finish(ms, runsOver && { name: "run", until: runsOver })]);
    },
    async close() {
      await membership.leave();
      await listener?.close();
      copies.stop();
      client.close();
      link.close();
    },
  };
}

const isLoopbackHost = (host: string): boolean => /^(?:localhost|127\.|\[?::1\]?$)/.test(host);

/** Asks another gateway for its tag. Rejects if it is not the one that was meant. */
async function ping(client: InternalClient, { tag, advertise }: Pick<NodeRecord, "tag" | "advertise">): Promise<void> {
  const [answer] = await client.ask({ tag, advertise }, "ping", {});
  if ((answer as { readonly tag?: unknown } | undefined)?.tag !== tag) {
    throw new ExcursorError("upstream-protocol", "Another program answers at this address.");
  }
}

/** A gateway must reach itself by its own URL; otherwise the others will not either. */
async function checkAdvertise(client: InternalClient, tag: string, advertise: string): Promise<void> {
  try {
    await ping(client, { tag, advertise });
  } catch (cause) {
    throw new ExcursorError("cluster_advertise", [advertise], { cause });
  }
}
