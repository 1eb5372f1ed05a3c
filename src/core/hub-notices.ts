import type { TurnEvent } from "./events.ts";
import type { HubProgress } from "./tool-hub.ts";

/** What is told while calls of the hub are under way; of the progress of a call only the last is kept until it is read. */
export class HubNotices {
  readonly #waiting = new Map<string, TurnEvent>();
  #wake: () => void = () => {};

  progress(callId: string, tool: string, { done, total, message }: HubProgress): void {
    const share = total === undefined ? String(done) : `${done}/${total}`;
    const text = [`${tool}: ${share}`, message].filter(Boolean).join(" ");
    this.#add(callId, { type: "notice", code: "tool_progress", text });
  }

  /** Gives notices until the work has settled. */
  async *until(work: Promise<unknown>): AsyncGenerator<readonly TurnEvent[], void, undefined> {
    let isOver = false;
    const over = work
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    for (;;) {
      const added = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#waiting.size === 0 && !isOver) await Promise.race([added, over]);
      const notices = [...this.#waiting.values()];
      this.#waiting.clear();
      if (isOver) return;
      yield notices;
    }
  }

  #add(key: string, notice: TurnEvent): void {
    this.#waiting.set(key, notice);
    this.#wake();
  }
}
