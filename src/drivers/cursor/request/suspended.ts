import { offeredTools } from "../../../core/engine/run-terms.ts";
import { argsKey, historyKeys } from "../../../core/history/history-key.ts";
import {
  type AssistantMessage,
  type JsonObject,
  type Message,
  resultsByCall,
  type ToolMessage,
  type Turn,
} from "../../../core/turn.ts";

/** A result for a call that the backend makes again when it resumes from a suspended turn. */
export interface OwedResult {
  readonly name: string;
  readonly argsKey: string;
  readonly result: ToolMessage;
}

/** The end of a conversation that waits for results, or has got them. */
export interface SuspendedTurn {
  readonly key: string;
  readonly owed: readonly OwedResult[];
}

/** Returns the key of a turn that waits for the results of its calls. The ids of calls differ between client and driver. */
export function suspendedKey(history: readonly Message[], { role, content }: AssistantMessage): string {
  let calls = 0;
  const numbered = content.map((part) => (part.type === "tool-call" ? { ...part, id: `${calls++}` } : part));
  return `suspended ${historyKeys([...history, { role, content: numbered }]).at(-1)}`;
}

/**
 * Returns the suspended turn of a conversation that ends with all the results that it waits for. The tools that were
 * called must still be offered, since they are called again.
 */
export function suspendedTurn(turn: Turn): SuspendedTurn | undefined {
  const { messages } = turn;
  const at = messages.findLastIndex(({ role }) => role !== "tool");
  const answer = messages[at];
  if (answer?.role !== "assistant") return undefined;
  const results = resultsByCall(messages.slice(at + 1));
  const calls = answer.content.filter((part) => part.type === "tool-call");
  const offered = new Set(offeredTools(turn).map(({ name }) => name));
  const owed = calls.flatMap((call): OwedResult[] => {
    const result = results.get(call.id);
    return result && offered.has(call.name)
      ? [{ name: call.name, argsKey: call.argsKey ?? argsKey(call.args), result }]
      : [];
  });
  const isComplete = owed.length > 0 && owed.length === calls.length && results.size === calls.length;
  return isComplete ? { key: suspendedKey(messages.slice(0, at), answer), owed } : undefined;
}

/** The results that the backend has to ask for before it continues. */
export class OwedResults {
  #owed: OwedResult[];

  constructor(owed: readonly OwedResult[] = []) {
    this.#owed = [...owed];
  }

  get isEmpty(): boolean {
    return this.#owed.length === 0;
  }

  /** Takes the result of this call; undefined if it is another call. */
  take(name: string, args: JsonObject): ToolMessage | undefined {
    if (this.isEmpty) return undefined;
    const key = argsKey(args);
    const at = this.#owed.findIndex((owed) => owed.name === name && owed.argsKey === key);
    return at < 0 ? undefined : this.#owed.splice(at, 1)[0]?.result;
  }
}
