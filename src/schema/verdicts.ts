import { BoundedMap } from "../core/bounded-map.ts";
import type { WorkerReply } from "./worker-messages.ts";

const MAX_VERDICTS = 2000;
/** How long a schema counts as too costly. The machine may have been busy, so it may be tried again later. */
const TOO_COSTLY_MS = 300_000;

interface Verdict {
  readonly reply: WorkerReply;
  /** On the monotonic clock. */
  readonly until: number;
}

/** What is known of the last {@link MAX_VERDICTS} schemas, by digest. */
export class Verdicts {
  /** The least recently used first. */
  readonly #verdicts = new BoundedMap<string, Verdict>(MAX_VERDICTS);

  /** Returns a verdict for this principal, or else for all. */
  get(digest: string, principalId: string): WorkerReply | undefined {
    return this.#look(`${digest} ${principalId}`) ?? this.#look(digest);
  }

  set(digest: string, reply: WorkerReply): void {
    this.#keep(digest, { reply, until: Number.POSITIVE_INFINITY });
  }

  /** With `principalId`: for this principal only. */
  setForAWhile(digest: string, why: string, principalId?: string): void {
    const key = principalId === undefined ? digest : `${digest} ${principalId}`;
    this.#keep(key, { reply: { type: "unusable", why }, until: performance.now() + TOO_COSTLY_MS });
  }

  #look(key: string): WorkerReply | undefined {
    const verdict = this.#verdicts.get(key);
    if (!verdict) return undefined;
    this.#verdicts.delete(key);
    if (verdict.until < performance.now()) return undefined;
    this.#verdicts.set(key, verdict);
    return verdict.reply;
  }

  #keep(key: string, verdict: Verdict): void {
    this.#verdicts.set(key, verdict);
  }
}
