import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Secret } from "../core/secret.ts";
import type { Log } from "../observe/log.ts";
import { openRedisLink, type RedisLink } from "./redis/redis-link.ts";

const BEAT_MS = 5000;
const LIFE_MS = 15_000;

const RecordSchema = z.object({
  name: z.string(),
  /** Another one for each process. */
  process: z.string(),
  version: z.string(),
  /** In ms since the epoch, by the gateway's clock. */
  startedAt: z.number(),
  isDraining: z.boolean(),
  parkedRuns: z.number(),
  /** Follow-ups of runs that this gateway did not hold. */
  replays: z.number(),
});

/** What a gateway tells of itself, for people: nothing is decided by it. */
export type GatewayRecord = Readonly<z.infer<typeof RecordSchema>>;

type Figures = Pick<GatewayRecord, "isDraining" | "parkedRuns" | "replays">;

export interface HeartbeatOptions {
  readonly link: RedisLink;
  readonly log: Log;
  readonly name: string;
  readonly version: string;
  readonly beatMs?: number;
}

/** Writes what `excursor nodes` shows of this gateway. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #process = randomUUID();
  readonly #startedAt = Date.now();
  readonly #figures: () => Figures;
  readonly #timer: NodeJS.Timeout;
  /** The process that had the name before. */
  #other: string | undefined;
  #isTold = false;

  constructor(options: HeartbeatOptions, figures: () => Figures) {
    this.#options = options;
    this.#figures = figures;
    this.#timer = setInterval(() => void this.beat(), options.beatMs ?? BEAT_MS).unref();
    void this.beat();
  }

  async beat(): Promise<void> {
    const { link, name, version } = this.#options;
    const record: GatewayRecord = {
      name,
      version,
      process: this.#process,
      startedAt: this.#startedAt,
      ...this.#figures(),
    };
    const expiration = { type: "PX", value: LIFE_MS } as const;
    const before = await link.ask(
      (client) => client.set(keyOf(link, name), JSON.stringify(record), { expiration, GET: true }),
      () => null,
    );
    this.#compare(typeof before === "string" ? parseRecord(before) : undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { link, name } = this.#options;
    await link.ask(
      (client) => client.del(keyOf(link, name)),
      () => 0,
    );
  }

  /** A predecessor that was killed is seen once; another gateway that lives writes again. */
  #compare(before: GatewayRecord | undefined): void {
    if (!before || before.process === this.#process) return;
    const isAlive = this.#other === before.process;
    this.#other = before.process;
    if (!isAlive || this.#isTold) return;
    this.#isTold = true;
    const { log, name } = this.#options;
    log.warn({ node: name }, "cluster.node: another gateway has the same name, so `excursor nodes` lists one of both.");
  }
}

const keyOf = (link: RedisLink, name: string): string => link.key("gateway", name);

/** Undefined if it is none that this version knows. */
function parseRecord(json: string): GatewayRecord | undefined {
  try {
    return RecordSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const LIST_MS = 5000;

/** Reads the gateways of a cluster, by name, without being one of them. */
export async function listGateways(redis: Secret): Promise<readonly GatewayRecord[]> {
  const link = await openRedisLink({ url: redis, log: SILENT, askMs: LIST_MS, patienceMs: LIST_MS });
  try {
    const found = await link.ask(
      async (client) => {
        const keys: string[] = [];
        for await (const some of client.scanIterator({ MATCH: keyOf(link, "*"), COUNT: 1000 })) keys.push(...some);
        return keys.length === 0 ? [] : client.mGet(keys);
      },
      () => [],
    );
    const records = found.flatMap((json) => (typeof json === "string" ? (parseRecord(json) ?? []) : []));
    return records.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    link.close();
  }
}
