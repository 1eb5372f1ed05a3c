import { Worker } from "node:worker_threads";
import { CANCELED, ExcursorError } from "../core/errors.ts";
import { awaitedLater } from "../core/ignored-failures.ts";
import type { Principal } from "../core/turn.ts";
import { within } from "../core/within.ts";
import type { WorkerReply, WorkerRequest } from "./worker-messages.ts";

export interface WorkerLimits {
  readonly jobMs: number;
  readonly startMs: number;
  /** Jobs that wait: of one principal, of all unverified tokens together, and of all principals. */
  readonly waitingPerPrincipal: number;
  readonly waitingUnverified: number;
  readonly waiting: number;
  readonly heapMb: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  jobMs: 3000,
  startMs: 30_000,
  waitingPerPrincipal: 32,
  waitingUnverified: 8,
  waiting: 512,
  heapMb: 128,
};

export interface Job {
  readonly request: WorkerRequest;
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** Called when its turn comes. A result makes the job unnecessary. */
  readonly known: () => WorkerReply | undefined;
}

/** `too-costly`: the job exceeded its time or memory, and its worker was terminated. */
export type Outcome = WorkerReply | { readonly type: "too-costly" };

interface Waiting extends Job {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: ExcursorError) => void;
}

/**
 * A worker thread and the jobs that wait for it. The worker gets one job at a time, so terminating it costs no other job;
 * the next job starts a new one. Principals take turns, each with its oldest job first. All unverified tokens share one
 * turn, since a caller can make up any number of them.
 */
export class WorkerQueue {
  readonly #limits: WorkerLimits;
  /** By the name of the turn; the next turn comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #size = 0;
  #worker: Promise<Worker> | undefined;
  #isBusy = false;
  #isClosed = false;
  #lastServed: string | undefined;

  constructor(limits: WorkerLimits = WORKER_LIMITS) {
    this.#limits = limits;
  }

  /** Rejects with `busy` or `rate-limited` if the queue is full, and with `canceled` if the signal aborts. */
  run(job: Job): Promise<Outcome> {
    const { principal, signal } = job;
    const { waitingPerPrincipal, waitingUnverified } = this.#limits;
    const turn = turnOf(principal);
    const own = this.#waiting.get(turn) ?? [];
    if (this.#isClosed || signal.aborted) return Promise.reject(CANCELED);
    const [whose, most] = principal.isUnverified
      ? ["unverified tokens", waitingUnverified]
      : ["this key", waitingPerPrincipal];
    if (own.length >= most) return Promise.reject(tooManyOf(whose, "rate-limited"));
    if (this.#size >= this.#limits.waiting) return Promise.reject(tooManyOf("all keys", "busy"));
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const waiting: Waiting = { ...job, resolve, reject };
    const onAbort = () => {
      this.#remove(waiting);
      reject(CANCELED);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    own.push(waiting);
    this.#size++;
    this.#waiting.set(turn, own);
    void this.#work();
    return promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Ends the worker. Jobs that wait or run are rejected as cancelled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let job = this.#next(); job; job = this.#next()) job.reject(CANCELED);
    const worker = this.#worker;
    this.#worker = undefined;
    // A worker that did not start has nothing to end.
    await worker?.then((started) => started.terminate()).catch(() => {});
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let job = this.#next(); job; job = this.#next()) {
      try {
        job.resolve(job.known() ?? (await this.#do(job.request)));
      } catch (error) {
        job.reject(ExcursorError.from(error));
      }
    }
    this.#isBusy = false;
  }

  async #do(request: WorkerRequest): Promise<Outcome> {
    this.#worker ??= this.#start();
    const starting = this.#worker;
    try {
      const worker = await starting;
      if (this.#isClosed) throw CANCELED;
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      // The worker ran out of memory, or was closed.
      const onExit = () => resolve({ type: "too-costly" });
      worker.once("message", resolve).once("exit", onExit).postMessage(request);
      const outcome = await within(promise, this.#limits.jobMs);
      worker.off("message", resolve).off("exit", onExit);
      if (outcome && outcome.type !== "too-costly") return outcome;
      void worker.terminate();
      if (this.#isClosed) throw CANCELED;
      this.#drop(starting);
      return { type: "too-costly" };
    } catch (error) {
      this.#drop(starting);
      throw error;
    }
  }

  #start(): Promise<Worker> {
    const starting = startWorker(this.#limits);
    void awaitedLater(starting.then((worker) => worker.once("exit", () => this.#drop(starting))));
    return starting;
  }

  #drop(worker: Promise<Worker>): void {
    if (this.#worker === worker) this.#worker = undefined;
  }

  #next(): Waiting | undefined {
    const [first, second] = this.#waiting.keys();
    // The principal that was served last may be first in the queue again.
    const turn = first === this.#lastServed ? (second ?? first) : first;
    if (turn === undefined) return undefined;
    const jobs = this.#waiting.get(turn);
    const job = jobs?.shift();
    if (!jobs || !job) return undefined;
    this.#lastServed = turn;
    this.#waiting.delete(turn);
    if (jobs.length > 0) this.#waiting.set(turn, jobs);
    this.#size--;
    return job;
  }

  #remove(job: Waiting): void {
    const turn = turnOf(job.principal);
    const jobs = this.#waiting.get(turn);
    const index = jobs?.indexOf(job) ?? -1;
    if (!jobs || index === -1) return;
    jobs.splice(index, 1);
    this.#size--;
    if (jobs.length === 0) this.#waiting.delete(turn);
  }
}

const turnOf = ({ id, isUnverified }: Principal): string => (isUnverified ? "unverified" : id);

async function startWorker({ startMs, heapMb }: WorkerLimits): Promise<Worker> {
  // The file has another extension in the build.
  const file = new URL(`./schema-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
  const worker = new Worker(file, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: heapMb / 8 },
  });
  worker.unref();
  let failure: unknown;
  worker.on("error", (error) => {
    failure = error;
  });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  worker.once("message", () => resolve(true));
  worker.once("exit", () => resolve(false));
  const isReady = await within(promise, startMs);
  worker.removeAllListeners("exit").removeAllListeners("message");
  if (isReady) return worker;
  void worker.terminate();
  throw new ExcursorError("internal", "The worker that checks JSON schemas did not start.", { cause: failure });
}

const tooManyOf = (whose: string, kind: "busy" | "rate-limited"): ExcursorError =>
  new ExcursorError("too_many_schemas", [whose], { kind: kind });
