import { createHash } from "node:crypto";
import { BoundedMap } from "../../../core/bounded-map.ts";
import { historyKeys } from "../../../core/history/history-key.ts";
import type { Message, Turn } from "../../../core/turn.ts";
import type { AgentProcess } from "./agent-process.ts";

export interface AgentSession {
  readonly id: string;
  readonly process: AgentProcess;
  /** Set after a cancellation. Resolves with whether the agent stopped. */
  readonly stopped?: Promise<boolean>;
}

export interface FoundAgentSession {
  readonly session: AgentSession;
  /** The number of messages that the session knows. */
  readonly known: number;
}

interface Entry {
  readonly session: AgentSession;
  readonly keys: readonly string[];
}

/**
 * Idle sessions of agents, found by their exact history and only for the same principal. A session in use is taken out.
 * An edited or forked history finds none.
 */
export class AgentSessionStore {
  readonly #entries: BoundedMap<string, Entry>;

  constructor(max: number) {
    this.#entries = new BoundedMap(max, { onEvicted: (entry) => this.#forget(entry) });
  }

  take(turn: Turn): FoundAgentSession | undefined {
    const keys = historyKeys(turn.messages);
    const firstNew = turn.messages.findLastIndex(({ role }) => role !== "user") + 1;
    // After an interrupted answer there may be two user messages in a row.
    for (let known = turn.messages.length - 1; known >= Math.max(firstNew, 1); known--) {
      const entry = this.#entries.get(keyFor(turn, keys[known] ?? ""));
      if (!entry) continue;
      this.#drop(entry);
      return { session: entry.session, known };
    }
    return undefined;
  }

  /** Keeps a session after a turn. An interrupted one is also found without the answer. */
  keep(session: AgentSession, turn: Turn, said: string, isWhole: boolean): void {
    const answer: Message = { role: "assistant", content: [{ type: "text", text: said }] };
    const keys = historyKeys([...turn.messages, answer]);
    const names = [keys.at(-1), ...(isWhole ? [] : [keys.at(-2)])].map((key) => keyFor(turn, key ?? ""));
    const entry: Entry = { session, keys: names };
    for (const name of names) {
      const other = this.#entries.get(name);
      if (other) this.#forget(other);
      this.#entries.set(name, entry);
    }
  }

  #forget(entry: Entry): void {
    this.#drop(entry);
    entry.session.process.closeSession(entry.session.id);
  }

  #drop({ keys }: Entry): void {
    for (const key of keys) this.#entries.delete(key);
  }
}

const keyFor = ({ principal, model, system }: Turn, history: string): string =>
  createHash("sha256")
    .update(JSON.stringify([principal.id, model.id, system, history]))
    .digest("base64url");
