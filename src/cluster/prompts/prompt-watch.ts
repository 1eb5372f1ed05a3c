import type { Question } from "../../core/activity.ts";
import type { OwnerPrompt } from "../../core/owner-prompts.ts";
import type { InternalClient } from "../internal/internal-client.ts";
import type { NodeRecord } from "../nodes/node-record.ts";

/** What a gateway tells one that watches its questions. */
export type PromptMessage =
  | { readonly type: "open"; readonly from: string; readonly question: Omit<Question, "answer"> }
  | { readonly type: "closed"; readonly id: string };

/** What the gateway that watches sends back. Null declines. */
export interface PromptAnswer {
  readonly id: string;
  readonly option: string | null;
}

/** The name of the request. Its first message is empty; the others are answers. */
export const WATCH_PROMPTS = "prompts";

/** The open questions of agents on another gateway, while it can be reached. */
export class PromptWatch {
  readonly #client: InternalClient;
  readonly #node: NodeRecord;
  readonly #open = new Map<string, OwnerPrompt>();
  readonly #stop = new AbortController();

  constructor(client: InternalClient, node: NodeRecord) {
    this.#client = client;
    this.#node = node;
  }

  get list(): readonly OwnerPrompt[] {
    return [...this.#open.values()];
  }

  find(id: string): OwnerPrompt | undefined {
    return this.#open.get(id);
  }

  /** Follows the questions. Resolves when the other gateway has ended or is lost, or after {@link stop}. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    try {
      const exchange = await this.#client.open(this.#node, WATCH_PROMPTS, {}, signal);
      const end = () => exchange.end();
      if (signal.aborted) return end();
      signal.addEventListener("abort", end, { once: true });
      const answer = (given: PromptAnswer) => void exchange.send(given).catch(() => {});
      for await (const message of exchange.messages()) this.#take(message as PromptMessage, answer);
    } catch {
      // The gateway is gone, or tried again later.
    } finally {
      this.#open.clear();
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  #take(message: PromptMessage, answer: (given: PromptAnswer) => void): void {
    if (message.type === "closed") {
      this.#open.delete(message.id);
      return;
    }
    const { from, question } = message;
    const { id } = question;
    this.#open.set(id, {
      from,
      node: this.#node.name,
      question: { ...question, answer: (option) => answer({ id, option: option ?? null }) },
    });
  }
}
