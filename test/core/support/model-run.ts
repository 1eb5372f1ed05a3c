import type { Run, RunContext } from "../../../src/core/driver.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { type ToolMessage, type Turn, textOf } from "../../../src/core/turn.ts";

/** How many tools a task calls at once, round by round. */
export const ROUNDS = [2, 1, 2] as const;

/**
 * An upstream that does the task of its turn: the rounds that the transcript has not answered yet, then all results as
 * text. It notes whatever must never happen to a run. What it says comes when the test lets time go on.
 */
export class ModelRun implements Run {
  readonly task: string;
  readonly wrongs: string[] = [];
  isOver = false;
  readonly #context: RunContext;
  readonly #tick: (label: string) => Promise<void>;
  readonly #results: string[];
  #round: number;
  #open = new Map<string, string>();
  #isWaiting = false;
  #death: string | undefined;

  constructor(turn: Turn, context: RunContext, tick: (label: string) => Promise<void>) {
    this.#context = context;
    this.#tick = tick;
    this.task = textOf(turn.messages[0]?.content ?? []).trim();
    const tools = turn.messages.filter((message) => message.role === "tool");
    const order = turn.messages.flatMap((message) =>
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))
        : [],
    );
    this.#results = order.map((id) => textOf(tools.find(({ callId }) => callId === id)?.content ?? []));
    this.#round = turn.messages.filter(({ role }) => role === "assistant").length;
  }

  /** How its end comes, if it does not come to it by itself. */
  dieNext(how: string): void {
    this.#death = how;
    if (how !== "backend dies while it waits" || !this.#isWaiting || this.isOver) return;
    this.isOver = true;
    this.#context.onLost?.();
  }

  submitResults(results: readonly ToolMessage[]): boolean {
    if (this.isOver) return false;
    if (!this.#isWaiting) this.wrongs.push(`${this.task}: answered while it does not wait`);
    for (const { callId, content } of results) {
      const key = this.#open.get(callId);
      if (key === undefined) this.wrongs.push(`${this.task}: a result for ${callId}, which is not open`);
      else if (textOf(content) !== `r:${key}`) this.wrongs.push(`${this.task}: ${textOf(content)} for ${key}`);
    }
    const order = [...this.#open.keys()];
    this.#results.push(...order.map((id) => textOf(results.find(({ callId }) => callId === id)?.content ?? [])));
    this.#open = new Map();
    this.#isWaiting = false;
    this.#round++;
    return true;
  }

  cancel(): void {
    this.isOver = true;
    this.#isWaiting = false;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    await this.#live("backend dies at the results");
    const count = ROUNDS[this.#round];
    if (count === undefined) {
      for (const [n, result] of this.#results.entries()) {
        yield [{ type: "text", text: n === 0 ? result : ` ${result}` }];
        await this.#live("backend dies after a word");
      }
      this.isOver = true;
      yield [{ type: "done", reason: "stop" }];
      return;
    }
    for (let n = 0; n < count; n++) {
      const [id, key] = [`inside-${this.#round}-${n}`, `${this.task}/${this.#round}/${n}`];
      this.#open.set(id, key);
      yield [{ type: "tool-call", id, name: "look", args: { key } }];
      await this.#live("backend dies after a word");
    }
    this.#isWaiting = true;
    yield [{ type: "done", reason: "tool-calls" }];
  }

  /** Time passes; fails if it has died or was cancelled meanwhile. */
  async #live(place: string): Promise<void> {
    await this.#tick(`${this.task} ${place}`);
    if (this.#death === place) this.isOver = true;
    if (this.isOver) throw new ExcursorError("connection_reset", "It died.");
  }
}
