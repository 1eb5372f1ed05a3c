import { hash, randomUUID } from "node:crypto";
import type { RunListener } from "../../../wire/connect/run-stream.ts";
import type { ModelEncoding } from "../models/model.ts";
import type { Offer } from "../request/offer.ts";
import { rebuildPrompt } from "../request/prompt.ts";
import { encodePrewarmRequest } from "../request/run-request.ts";
import type { Farewells } from "./farewells.ts";
import type { RunPlan } from "./run-plan.ts";
import { AgentStream, type Transports } from "./stream.ts";

/** A stream whose backend has been told to prepare a run, and waits for the run request. */
export interface PrewarmedStream {
  readonly stream: AgentStream;
  readonly requestId: string;
  readonly conversationId: string;
  /** Messages of the backend before the run request. */
  readonly early: Uint8Array[];
}

interface Waiting extends PrewarmedStream {
  readonly key: string;
  readonly owner: string;
  readonly timer: NodeJS.Timeout;
  listener: RunListener | undefined;
}

/** A client that has announced a request sends it soon. */
const TTL_MS = 60_000;
const MAX_STREAMS = 64;
const MAX_PER_OWNER = 4;
/** Mostly heartbeats. */
const MAX_EARLY_MESSAGES = 64;

/** Streams that were opened with a `prewarm_request`, until a run of the same owner, model and tools takes them. */
export class PrewarmedStreams {
  readonly #transports: Transports;
  readonly #farewells: Farewells;
  /** Oldest first. */
  readonly #waiting = new Set<Waiting>();

  constructor(transports: Transports, farewells: Farewells) {
    this.#transports = transports;
    this.#farewells = farewells;
  }

  /** Opens a stream for a new conversation. The oldest one of the owner gives way if there are too many. */
  open(plan: RunPlan, offer: Offer, model: ModelEncoding): void {
    const own = [...this.#waiting].filter(({ owner }) => owner === plan.owner);
    if (own.length >= MAX_PER_OWNER) this.#drop(own[0]);
    if (this.#waiting.size >= MAX_STREAMS) return;
    const { conversationId, state } = rebuildPrompt({ ...plan.turn, messages: [] });
    const requestId = randomUUID();
    const early: Uint8Array[] = [];
    const stream = new AgentStream(
      this.#transports,
      plan.endpoint,
      { ...plan.caller, ghostMode: plan.endpoint.ghostMode, requestId },
      {
        message: (payload) => {
          if (entry.listener) entry.listener.message(payload);
          else if (early.push(payload) > MAX_EARLY_MESSAGES) this.#drop(entry);
        },
        done: (error, end) => {
          this.#forget(entry);
          entry.listener?.done(error, end);
        },
      },
      async () => undefined,
      () => this.#farewells.take(plan.turn.principal.id),
    );
    const timer = setTimeout(() => this.#drop(entry), TTL_MS).unref();
    const key = keyOf(plan, offer, model);
    const entry: Waiting = {
      stream,
      requestId,
      conversationId,
      key,
      owner: plan.owner,
      early,
      timer,
      listener: undefined,
    };
    this.#waiting.add(entry);
    stream.send(encodePrewarmRequest({ state, conversationId, model, offer }));
  }

  /** Hands over a stream that fits, if there is one. The listener gets what the backend sends from now on. */
  take(plan: RunPlan, offer: Offer, model: ModelEncoding, listener: RunListener): PrewarmedStream | undefined {
    if (this.#waiting.size === 0) return undefined;
    const key = keyOf(plan, offer, model);
    const entry = [...this.#waiting].findLast((one) => one.key === key);
    if (!entry) return undefined;
    this.#forget(entry);
    entry.listener = listener;
    return entry;
  }

  close(): void {
    for (const entry of [...this.#waiting]) this.#drop(entry);
  }

  #drop(entry: Waiting | undefined): void {
    if (!entry || !this.#waiting.has(entry)) return;
    this.#forget(entry);
    entry.stream.hangUp();
  }

  #forget(entry: Waiting): void {
    this.#waiting.delete(entry);
    clearTimeout(entry.timer);
  }
}

/** Everything that a prewarm request tells the backend, and who asks. */
const keyOf = ({ owner, endpoint }: RunPlan, { mcpTools }: Offer, model: ModelEncoding): string =>
  JSON.stringify([owner, endpoint.origin, endpoint.transport, model, hash("sha256", mcpTools)]);
