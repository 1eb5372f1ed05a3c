import type { KeptAnswer } from "../../core/hub/hub-answers.ts";
import { parseRound } from "../../core/hub/round-json.ts";
import { type HubCopy, sizeOf } from "./hub-copy.ts";

/** How long an interrupted answer may be continued. */
const RECENT_MS = 15 * 60_000;

const MAX_ANSWERS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;

/** What one answer has: the last change of each kind. */
interface RecentAnswer {
  readonly changes: Map<string, HubCopy>;
  /** Where it is found. */
  readonly names: Set<string>;
  bytes: number;
  /** The tag of the gateway that makes it. Undefined if none does. */
  maker: string | undefined;
  /** That gateway has told it itself. */
  isFirstHand: boolean;
  changedAt: number;
}

/** The last answers of the hubs of all gateways, in memory. Bounded in number, bytes and time. */
export class RecentAnswers {
  /** By id, the longest unchanged first. */
  readonly #answers = new Map<string, RecentAnswer>();
  /** The ids of the answers to a request, or with a history. */
  readonly #ids = new Map<string, Set<string>>();
  #bytes = 0;

  get size(): number {
    return this.#answers.size;
  }

  /** `from` is the tag of the gateway that has told it. What the maker has told itself is not replaced by what others tell of it. */
  put(copy: HubCopy, from: string): void {
    const { principalId, id, askedKey } = copy.place;
    const known = this.#answers.get(id);
    const isFirstHand = from === copy.by;
    if (known ? known.isFirstHand && !isFirstHand : copy.type === "left") return;
    const answer = known ?? { ...NOTHING, changes: new Map<string, HubCopy>(), names: new Set<string>() };
    this.#find(askedName(principalId, askedKey), id, answer);
    if (copy.type === "end") this.#find(historyName(principalId, copy.history), id, answer);
    const name = copy.type === "round" ? `round ${copy.position}` : copy.type;
    const before = answer.changes.get(name);
    const more = sizeOf(copy) - (before ? sizeOf(before) : 0);
    // In the order of the changes: the newest is the last one.
    answer.changes.delete(name);
    answer.changes.set(name, copy);
    answer.bytes += more;
    answer.maker = copy.type === "left" ? undefined : copy.by;
    answer.isFirstHand = isFirstHand;
    answer.changedAt = performance.now();
    this.#bytes += more;
    this.#answers.delete(id);
    this.#answers.set(id, answer);
    this.#makeRoom();
  }

  /** Returns all changes, those of one answer in their order. */
  list(): readonly HubCopy[] {
    this.#makeRoom();
    return [...this.#answers.values()].flatMap(({ changes }) => [...changes.values()]);
  }

  /** Returns the tag of the gateway that makes an answer. */
  makerOf(id: string): string | undefined {
    return this.#answers.get(id)?.maker;
  }

  askedBy(principalId: string, askedKey: string): readonly KeptAnswer[] {
    return this.#named(askedName(principalId, askedKey));
  }

  /** Returns the answer that ends a history. */
  answered(principalId: string, history: string): KeptAnswer | undefined {
    return this.#named(historyName(principalId, history)).at(-1);
  }

  #named(name: string): readonly KeptAnswer[] {
    this.#makeRoom();
    return [...(this.#ids.get(name) ?? [])].flatMap((id) => {
      const answer = this.#answers.get(id);
      return answer ? keptOf(answer) : [];
    });
  }

  #find(name: string, id: string, answer: RecentAnswer): void {
    const ids = this.#ids.get(name) ?? new Set<string>();
    this.#ids.set(name, ids.add(id));
    answer.names.add(name);
  }

  #makeRoom(): void {
    const since = performance.now() - RECENT_MS;
    for (const [id, { names, bytes, changedAt }] of this.#answers) {
      const isTooMuch = this.#answers.size > MAX_ANSWERS || this.#bytes > MAX_BYTES;
      if (!isTooMuch && changedAt >= since) return;
      this.#answers.delete(id);
      this.#bytes -= bytes;
      for (const name of names) {
        const ids = this.#ids.get(name);
        ids?.delete(id);
        if (ids?.size === 0) this.#ids.delete(name);
      }
    }
  }
}

const NOTHING = { bytes: 0, maker: undefined, isFirstHand: false, changedAt: 0 };

const askedName = (principalId: string, askedKey: string): string => JSON.stringify(["asked", principalId, askedKey]);
const historyName = (principalId: string, history: string): string => JSON.stringify(["end", principalId, history]);

/** Returns nothing if a round is missing. */
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
