import { type OpenPrompts, type OwnerPrompt, OwnerPrompts } from "../../core/owner-prompts.ts";
import type { InternalClient } from "../internal/internal-client.ts";
import type { InternalExchange } from "../internal/internal-exchange.ts";
import type { InternalHandler } from "../internal/internal-listener.ts";
import type { Membership } from "../nodes/membership.ts";
import { type PromptAnswer, type PromptMessage, PromptWatch } from "./prompt-watch.ts";

/** How often gateways that have joined or are lost are looked for, while a page is open. */
const LOOK_MS = 1000;

/** Questions that a gateway tells the others, oldest first. A dashboard shows no more. */
const MAX_TOLD = 5;

/**
 * The questions of agents on all gateways of a cluster. While a page of the dashboard is open here, this gateway watches the
 * others. They then know that the owner looks, and ask instead of declining.
 */
export class ClusterPrompts implements OpenPrompts {
  /** The questions of this gateway's own agents. */
  readonly own: OwnerPrompts = new OwnerPrompts();
  readonly #members: Pick<Membership, "name" | "tag" | "nodes">;
  readonly #client: InternalClient;
  /** By the tag of the other gateway. */
  readonly #watches = new Map<string, PromptWatch>();
  /** The gateways that watch this one. */
  readonly #watchers = new Set<InternalExchange>();
  #viewers = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(members: Pick<Membership, "name" | "tag" | "nodes">, client: InternalClient) {
    this.#members = members;
    this.#client = client;
  }

  /** Those of this gateway first. */
  get list(): readonly OwnerPrompt[] {
    const node = this.#members.name;
    const own = this.own.list.map((prompt) => ({ ...prompt, node }));
    return [...own, ...[...this.#watches.values()].flatMap(({ list }) => list)];
  }

  find(id: string): OwnerPrompt | undefined {
    for (const prompts of [this.own, ...this.#watches.values()]) {
      const prompt = prompts.find(id);
      if (prompt) return prompt;
    }
    return undefined;
  }

  attend(): () => void {
    const leave = this.own.attend();
    if (++this.#viewers === 1) {
      this.#watchOthers();
      this.#timer = setInterval(() => this.#watchOthers(), LOOK_MS).unref();
    }
    let isOver = false;
    return () => {
      leave();
      if (isOver) return;
      isOver = true;
      if (--this.#viewers === 0) this.#stopWatching();
    };
  }

  /** Ends the requests of gateways that watch this one. They would never end by themselves. */
  stop(): void {
    for (const exchange of this.#watchers) exchange.destroy();
  }

  /** Tells another gateway the questions of this one, and takes its answers. */
  readonly handler: InternalHandler = async (exchange) => {
    const told = new Set<string>();
    const send = (message: PromptMessage) => void exchange.send(message).catch(() => {});
    const tell = () => {
      const open = new Map(this.own.list.slice(0, MAX_TOLD).map((prompt) => [prompt.question.id, prompt]));
      for (const id of told) if (!open.has(id) && told.delete(id)) send({ type: "closed", id });
      for (const [id, { from, question }] of open) {
        if (told.has(id)) continue;
        told.add(id);
        send({ type: "open", from, question });
      }
    };
    const leave = this.own.attend();
    const forget = this.own.onChange(tell);
    this.#watchers.add(exchange);
    tell();
    try {
      for await (const message of exchange.messages()) {
        const { id = "", option } = message as Partial<PromptAnswer>;
        this.own.find(id)?.question.answer(option ?? undefined);
      }
    } finally {
      this.#watchers.delete(exchange);
      forget();
      leave();
    }
  };

  #watchOthers(): void {
    const nodes = new Map(this.#members.nodes().map((node) => [node.tag, node]));
    nodes.delete(this.#members.tag);
    for (const [tag, watch] of this.#watches) if (!nodes.has(tag)) watch.stop();
    for (const [tag, node] of nodes) {
      if (this.#watches.has(tag)) continue;
      const watch = new PromptWatch(this.#client, node);
      this.#watches.set(tag, watch);
      void watch.run().then(() => {
        if (this.#watches.get(tag) === watch) this.#watches.delete(tag);
      });
    }
  }

  #stopWatching(): void {
    clearInterval(this.#timer);
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}
