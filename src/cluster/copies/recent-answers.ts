import type { KeptAnswer } from "../../core/hub/hub-answers.ts";
import { parseRound } from "../../core/hub/round-json.ts";
import { type HubCopy, sizeOf } from "./hub-copy.ts";

/** How long an interrupted answer may be continued. */
const RECENT_MS = 15 * 60_000;

const MAX_ANSWERS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;

/** One answer, as its changes. */
interface RecentAnswer {
  /** The last change of each kind: each round, the end. */
  readonly changes: Map<string, HubCopy>;
  /** The names under which it is found. */
  readonly names: Set<string>;
  bytes: number;
  /** The tag of the gateway that is making it. Undefined if none is. */
  maker: string | undefined;
  /** True if the last change came from the gateway that made it, and not through another one. */
  isFirstHand: boolean;
  changedAt: number;
}

/** The last answers of the hubs of all gateways, in memory. Bounded in number, bytes and time. */
export class RecentAnswers {
  /** By principal and id: clients choose some ids. The longest unchanged answers come first. */
  readonly #answers = new Map<string, RecentAnswer>();
  /** The keys in `#answers` of the answers to a request, or that end a history. */
  readonly #named = new Map<string, Set<string>>();
  #bytes = 0;

  get size(): number {
    return this.#answers.size;
  }

  /**
   * Adds a change. `from` is the tag of the gateway that has sent it. A change that came from its maker is not replaced by one that
   * another gateway passes on.
   */
  put(copy: HubCopy, from: string): void {
    const { principalId, id, askedKey } = copy.place;
    const key = keyOf(principalId, id);
    const known = this.#answers.get(key);
    const isFirstHand = from === copy.by;
    if (known ? known.isFirstHand && !isFirstHand : copy.type === "left") return;
    const answer = known ?? { ...NOTHING, changes: new Map<string, HubCopy>(), names: new Set<string>() };
    this.#name(askedName(principalId, askedKey), key, answer);
    if (copy.type === "end") this.#name(historyName(principalId, copy.history), key, answer);
    const name = copy.type === "round" ? `round ${copy.position}` : copy.type;
    const before = answer.changes.get(name);
    const more = sizeOf(copy) - (before ? sizeOf(before) : 0);
    // The newest change is the last one.
    answer.changes.delete(name);
    answer.changes.set(name, copy);
    answer.bytes += more;
    if (copy.type !== "left") answer.maker = copy.by;
    else if (answer.maker === copy.by) answer.maker = undefined;
    answer.isFirstHand = isFirstHand;
    answer.changedAt = Math.max(answer.changedAt, performance.now() - (copy.ageMs ?? 0));
    this.#bytes += more;
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    this.#makeRoom();
  }

  /** Returns all changes with their age. The changes of one answer are in the order in which they were made. */
  list(): readonly HubCopy[] {
    return [...this.#answers.values()].filter(isRecent).flatMap(({ changes, changedAt }) => {
      const ageMs = Math.round(performance.now() - changedAt);
      return [...changes.values()].map((copy) => ({ ...copy, ageMs }));
    });
  }

  /** Returns the tag of the gateway that is making an answer. */
  makerOf(principalId: string, id: string): string | undefined {
    return this.#answers.get(keyOf(principalId, id))?.maker;
  }

  /** Returns the answers to a request. */
  askedBy(principalId: string, askedKey: string): readonly KeptAnswer[] {
    return this.#find(askedName(principalId, askedKey));
  }

  /** Returns the answer that ends a history. */
  answered(principalId: string, history: string): KeptAnswer | undefined {
    return this.#find(historyName(principalId, history)).at(-1);
  }

  #find(name: string): readonly KeptAnswer[] {
    return [...(this.#named.get(name) ?? [])].flatMap((key) => {
      const answer = this.#answers.get(key);
      return answer && isRecent(answer) ? keptOf(answer) : [];
    });
  }

  #name(name: string, key: string, answer: RecentAnswer): void {
    const keys = this.#named.get(name) ?? new Set<string>();
    this.#named.set(name, keys.add(key));
    answer.names.add(name);
  }

  #makeRoom(): void {
    for (const [key, answer] of this.#answers) {
      const isTooMuch = this.#answers.size > MAX_ANSWERS || this.#bytes > MAX_BYTES;
      if (!isTooMuch && isRecent(answer)) return;
      this.#answers.delete(key);
      this.#bytes -= answer.bytes;
      for (const name of answer.names) {
        const keys = this.#named.get(name);
        keys?.delete(key);
        if (keys?.size === 0) this.#named.delete(name);
      }
    }
  }
}

const isRecent = ({ changedAt }: RecentAnswer): boolean => performance.now() - changedAt <= RECENT_MS;

const NOTHING = { bytes: 0, maker: undefined, isFirstHand: false, changedAt: Number.NEGATIVE_INFINITY };

const keyOf = (principalId: string, id: string): string => JSON.stringify([principalId, id]);

const askedName = (principalId: string, askedKey: string): string => JSON.stringify(["asked", principalId, askedKey]);
const historyName = (principalId: string, history: string): string => JSON.stringify(["end", principalId, history]);

/** Builds the answer from its changes. Returns nothing if a round is missing. */
function keptOf({ changes, changedAt }: RecentAnswer): KeptAnswer | readonly never[] {
  const [first] = changes.values();
  const copies = [...changes.values()];
  const rounds = copies.filter((copy) => copy.type === "round").sort((a, b) => a.position - b.position);
  if (!first || rounds.some(({ position }, at) => position !== at)) return [];
  return {
    id: first.place.id,
    askedKey: first.place.askedKey,
    rounds: rounds.map(({ round }) => parseRound(round)),
    end: copies.find((copy) => copy.type === "end")?.end,
    isSettled: copies.some(({ type }) => type === "settled"),
    ageMs: performance.now() - changedAt,
  };
}
