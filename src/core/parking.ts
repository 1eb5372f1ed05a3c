import { historyKeys } from "./history-key.ts";
import { type LiveRun, sessionOf } from "./live-run.ts";
import type { AssistantMessage, Message, ToolMessage, Turn } from "./turn.ts";

export interface ParkingLimits {
  readonly ttlMs: number;
  readonly perPrincipal: number;
  readonly total: number;
}

const PARKING_LIMITS: ParkingLimits = { ttlMs: 15 * 60_000, perPrincipal: 64, total: 1000 };

interface ParkedRun {
  readonly live: LiveRun;
  readonly principalId: string;
  /** Of the conversation up to the calls: a follow-up must bring exactly this one. */
  readonly historyKey: string;
  readonly callIds: ReadonlySet<string>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Runs that wait for the results of their tool calls, while the client that has them is between two requests. Whoever
 * takes one owns it; it is there for nobody else any more. What is not fetched in time, or has to make room, is
 * cancelled: its conversation is then told anew from the client's transcript, which costs time and nothing else.
 */
export class Parking {
  readonly #runs = new Map<string, ParkedRun>();
  readonly #limits: ParkingLimits;

  constructor(limits: ParkingLimits = PARKING_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#runs.size;
  }

  park(live: LiveRun, turn: Turn, answer: AssistantMessage): void {
    const principalId = turn.principal.id;
    this.#makeRoom(principalId);
    const timer = setTimeout(() => this.#evict(live.session), this.#limits.ttlMs).unref();
    const historyKey = historyKeys([...turn.messages, answer]).at(-1) ?? "";
    const callIds = new Set(answer.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : [])));
    this.#runs.set(live.session, { live, principalId, historyKey, callIds, timer });
  }

  /**
   * The run that the last messages of a turn answer, with those answers. Only for whom it was parked, only with the
   * history it was parked with, and only if every call is answered: otherwise it is not this turn's. A run that was
   * asked for by its owner in any other way will never be asked for properly, so it is given up.
   */
  take({
    messages,
    principal,
  }: Turn): { readonly live: LiveRun; readonly results: readonly ToolMessage[] } | undefined {
    const results = trailingResults(messages);
    const session = sessionOf(results[0]?.callId ?? "");
    const parked = session === undefined ? undefined : this.#runs.get(session);
    if (!parked || parked.principalId !== principal.id) return undefined;
    const { live, historyKey, callIds, timer } = parked;
    clearTimeout(timer);
    this.#runs.delete(live.session);
    const key = historyKeys(messages.slice(0, -results.length)).at(-1);
    const isComplete = results.length === callIds.size && results.every(({ callId }) => callIds.has(callId));
    if (key === historyKey && isComplete) return { live, results };
    live.cancel();
    return undefined;
  }

  /** Gives up all of them. */
  close(): void {
    for (const session of [...this.#runs.keys()]) this.#evict(session);
  }

  #makeRoom(principalId: string): void {
    const own = [...this.#runs].filter(([, parked]) => parked.principalId === principalId);
    const [oldestOwn] = own[0] ?? [];
    if (own.length >= this.#limits.perPrincipal && oldestOwn !== undefined) this.#evict(oldestOwn);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size >= this.#limits.total && oldest !== undefined) this.#evict(oldest);
  }

  #evict(session: string): void {
    const parked = this.#runs.get(session);
    this.#runs.delete(session);
    clearTimeout(parked?.timer);
    parked?.live.cancel();
  }
}

function trailingResults(messages: readonly Message[]): readonly ToolMessage[] {
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(start).filter((message) => message.role === "tool");
}
