import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { TAG_LENGTH } from "../../core/engine/run/call-names.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Log } from "../../observe/log.ts";
import type { ClusterKeys } from "../internal/cluster-keys.ts";
import { askPatiently } from "../redis/ask-patiently.ts";
import type { RedisLink } from "../redis/redis-link.ts";
import { type BeatReply, beat, leave, NODE_TTL_MS } from "./beat.ts";
import { isProvenRecord, type NodeRecord, proveRecord } from "./node-record.ts";

const BEAT_MS = 1000;

/** How many heartbeats may pass until the figures of the other gateways are read again. */
const FIGURES_BEATS = 10;

/** A difference of clocks that users should know of. */
const CLOCK_MS = 30_000;

const MAX_STRANGERS = 64;

/** The figures that a gateway tells the others. */
export type NodeFigures = Pick<NodeRecord, "parkedRuns" | "forwarded" | "served">;

export interface MembershipOptions {
  readonly link: RedisLink;
  readonly keys: ClusterKeys;
  readonly name: string;
  readonly version: string;
  readonly log: Log;
  /** Called when a gateway is seen for the first time. */
  readonly onJoined?: (node: NodeRecord) => void;
  /** The machine's clock, in ms since the epoch. */
  readonly wallClock?: () => number;
}

/** This gateway in its cluster: its heartbeats, and the gateways that it knows. */
export class Membership {
  /** Random, so that a restarted gateway is not taken for its predecessor. Fixed once the gateway has joined. */
  tag: string = newTag();
  readonly name: string;
  readonly #options: MembershipOptions;
  readonly #wallClock: () => number;
  #advertise = "";
  #figures: () => NodeFigures = () => ({ parkedRuns: 0, forwarded: 0, served: 0 });
  #nodes = new Map<string, NodeRecord>();
  /** Of the gateways that are known. Empty: they are to be read again. */
  #version = "";
  /** Heartbeats since they were read. */
  #beatsSince = 0;
  /** Gateways without the right proof, which were reported. */
  readonly #strangers = new Set<string>();
  #isDraining = false;
  #isTaken = false;
  #clockAheadMs = 0;
  #toldClock = false;
  #joinedAt = 0;
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #hasLeft = false;
  /** Until then a gateway that Redis does not know is still known here, by `performance.now()`. */
  #keepsUntil = 0;
  #removeListener: (() => void) | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.name = options.name;
    this.#wallClock = options.wallClock ?? Date.now;
  }

  /** The clock of the cluster, which is that of Redis, in ms since the epoch. */
  readonly now = (): number => this.#wallClock() - this.#clockAheadMs;

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Looks at the cluster before this gateway is part of it. Throws if the gateways there have another secret. */
  async look(): Promise<void> {
    const { link } = this.#options;
    const reply = await askPatiently(link, (client) => beat(client, link));
    if (reply.type === "taken") return;
    const { redisMs, nodes = [] } = reply;
    this.#setClock(redisMs);
    this.#checkSecret(nodes);
    while (nodes.some(({ tag }) => tag === this.tag)) this.tag = newTag();
  }

  /**
   * Joins the cluster. Throws if another process has the name. A predecessor that was killed is waited for until it counts as
   * gone.
   */
  async join(advertise: string, figures: () => NodeFigures): Promise<void> {
    this.#advertise = advertise;
    this.#figures = figures;
    this.#joinedAt = this.now();
    const { link } = this.#options;
    await this.#takeName();
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS).unref();
    // A Redis that was restarted empty knows no gateway before its next heartbeat.
    this.#removeListener = link.onChange((isUp) => {
      if (!isUp) return;
      this.#keepsUntil = performance.now() + NODE_TTL_MS;
      void this.#beat();
    });
  }

  /** The other gateways. While Redis is away: those that were last seen. */
  get others(): readonly NodeRecord[] {
    return [...this.#nodes.values()];
  }

  /** The other gateways and this one, by name. */
  nodes(): readonly NodeRecord[] {
    return [...this.others, this.#record()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns another gateway by its tag. Asks Redis for one that is not known yet, within the time that the request has left. */
  async find(tag: string): Promise<NodeRecord | undefined> {
    if (!this.#nodes.has(tag)) await this.#beat("askBriefly");
    return this.#nodes.get(tag);
  }

  /** Returns another gateway that takes new turns; at random, so that they share the load. */
  pickOther(): NodeRecord | undefined {
    const others = [...this.#nodes.values()].filter(({ isDraining }) => !isDraining);
    return others[Math.floor(Math.random() * others.length)];
  }

  /** Returns what this gateway tells the others of itself. */
  introduce(): NodeRecord {
    return this.#record();
  }

  /** Another gateway has introduced itself, perhaps before its first heartbeat was seen here. */
  meet(node: NodeRecord): void {
    const isKnown = node.tag === this.tag || this.#nodes.has(node.tag);
    if (isKnown || !isProvenRecord(this.#options.keys, node)) return;
    this.#nodes.set(node.tag, node);
    this.#options.onJoined?.(node);
  }

  /** A gateway did not answer: it is forgotten until its next heartbeat. */
  forget(tag: string): void {
    this.#nodes.delete(tag);
    this.#version = "";
  }

  /** Tells the others that this gateway takes no new turns. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#beat();
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearInterval(this.#timer);
    this.#removeListener?.();
    const { link } = this.#options;
    await link.ask(
      (client) => leave(client, link, this.#record()),
      () => undefined,
    );
  }

  async #takeName(): Promise<void> {
    const { link } = this.#options;
    const deadline = performance.now() + NODE_TTL_MS + BEAT_MS;
    let seen: string | undefined;
    for (;;) {
      const reply = await askPatiently(link, (client) => beat(client, link, this.#record()));
      if (reply.type === "beaten") return this.#learn(reply);
      const holder = JSON.stringify(reply.by);
      // A record that changes is that of a living process.
      if ((seen !== undefined && seen !== holder) || performance.now() > deadline) throw nameTaken(this.name, reply.by);
      seen = holder;
      await wait(BEAT_MS / 4);
    }
  }

  async #beat(ask: "ask" | "askBriefly" = "ask"): Promise<void> {
    // A heartbeat would register this gateway again.
    if (this.#hasLeft) return;
    const { link, log } = this.#options;
    if (++this.#beatsSince >= FIGURES_BEATS) this.#version = "";
    const reply = await link[ask]<BeatReply | undefined>(
      (client) => beat(client, link, this.#record(), this.#version),
      () => undefined,
    );
    if (reply?.type === "beaten") {
      this.#learn(reply);
      this.#isTaken = false;
    } else if (reply && !this.#isTaken) {
      this.#isTaken = true;
      log.error(
        { node: this.name, by: reply.by?.advertise },
        "cluster.node: another gateway has taken the name of this one.",
      );
    }
  }

  #learn({ redisMs, version, nodes }: Extract<BeatReply, { type: "beaten" }>): void {
    this.#setClock(redisMs);
    if (!nodes) return;
    this.#beatsSince = 0;
    const known = this.#nodes;
    const names = new Set(nodes.map(({ name }) => name));
    const keeps = performance.now() < this.#keepsUntil;
    this.#version = keeps ? "" : version;
    // One that has started again has its name, but another tag.
    this.#nodes = new Map([...known].filter(([, { name }]) => keeps && !names.has(name)));
    for (const node of nodes) {
      if (node.tag === this.tag) continue;
      if (!isProvenRecord(this.#options.keys, node)) {
        this.#reportStranger(node);
        continue;
      }
      this.#nodes.set(node.tag, node);
      if (!known.has(node.tag)) this.#options.onJoined?.(node);
    }
  }

  #reportStranger({ name, tag }: NodeRecord): void {
    if (this.#strangers.has(tag) || this.#strangers.size >= MAX_STRANGERS) return;
    this.#strangers.add(tag);
    this.#options.log.error(
      { node: name },
      "cluster.secret: a gateway in this Redis has another secret. It is ignored.",
    );
  }

  #checkSecret(nodes: readonly NodeRecord[]): void {
    const stranger = nodes.find((node) => !isProvenRecord(this.#options.keys, node));
    if (!stranger) return;
    throw new ExcursorError("cluster_wrong_secret", [stranger.name]);
  }

  #setClock(redisMs: number): void {
    const aheadMs = Math.round(this.#wallClock() - redisMs);
    // Small differences are the way to Redis.
    this.#clockAheadMs = Math.abs(aheadMs) < BEAT_MS ? 0 : aheadMs;
    const isFar = Math.abs(aheadMs) >= CLOCK_MS;
    if (isFar && !this.#toldClock) {
      const { log } = this.#options;
      log.warn(
        { clockAheadMs: aheadMs },
        `The clock of this machine and that of cluster.redis are ${Math.round(Math.abs(aheadMs) / 1000)} s apart. Set both by NTP: times in the usage record are wrong.`,
      );
    }
    this.#toldClock = isFar;
  }

  #record(): NodeRecord {
    const { keys, version } = this.#options;
    return proveRecord(keys, {
      name: this.name,
      tag: this.tag,
      advertise: this.#advertise,
      version,
      joinedAt: this.#joinedAt,
      beats: this.#beats++,
      isDraining: this.#isDraining,
      clockAheadMs: this.#clockAheadMs,
      ...this.#figures(),
    });
  }
}

const newTag = (): string => randomBytes(TAG_LENGTH).toString("base64url").slice(0, TAG_LENGTH);

const nameTaken = (name: string, by: NodeRecord | undefined): ExcursorError =>
  new ExcursorError("cluster_name_taken", [by?.advertise ?? "another place", name]);
