import { isComplete, type KeptAnswer } from "../../core/hub/hub-answers.ts";
import { within } from "../../core/within.ts";
import type { InternalClient } from "../internal/internal-client.ts";
import type { InternalExchange } from "../internal/internal-exchange.ts";
import type { InternalHandler } from "../internal/internal-listener.ts";
import type { Membership } from "../nodes/membership.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import { type CopyHello, CopyStream } from "./copy-stream.ts";
import type { HubChange, HubCopy } from "./hub-copy.ts";
import { RecentAnswers } from "./recent-answers.ts";

/** How many other gateways get a copy. In a larger cluster these are the next ones by name. */
const MAX_RECEIVERS = 8;

/** How long a hub call waits until the other gateways have acknowledged it. */
const ACKNOWLEDGE_MS = 1000;

/** The pause before the next attempt to reach a gateway whose stream was lost. */
const PAUSE_MS = 250;

/** How long the start waits for the recent answers of the other gateways. */
const START_MS = 2000;

/** The name of the request by which a gateway that has joined asks for recent answers. */
export const WANT_COPIES = "want-copies";

/** The message of {@link WANT_COPIES}. */
interface Wanted {
  /** The gateway that asks. */
  readonly by: NodeRecord;
}

/** What the store of the hub's answers needs. */
export interface AnswerCopies {
  /** Connects to the other gateways, since a change may follow soon. */
  prepare(): void;
  /** Sends a change to the other gateways. */
  send(change: HubChange): void;
  /** Resolves when the other gateways have all changes so far; at most after {@link ACKNOWLEDGE_MS}. */
  acknowledged(): Promise<void>;
  /** Returns the answers to a request that this gateway knows, its own and those of others. */
  findAsked(principalId: string, askedKey: string): readonly KeptAnswer[];
  /** Returns the answers that end these histories, by history key. */
  findAnswered(principalId: string, histories: readonly string[]): ReadonlyMap<string, KeptAnswer>;
}

type Members = Pick<Membership, "name" | "tag" | "others" | "introduce" | "meet">;

/**
 * Sends each change of a hub answer to other gateways, and remembers the changes that they send. So another gateway can continue
 * an answer without making its calls again if the maker dies while Redis is away or late, or has lost its data.
 */
export class HubCopies {
  readonly #members: Members;
  readonly #client: InternalClient;
  readonly #recent = new RecentAnswers();
  /** By the tag of the other gateway. */
  readonly #streams = new Map<string, CopyStream>();
  /** When the stream to a gateway was lost, by its tag. */
  readonly #failedAt = new Map<string, number>();
  /** The streams of other gateways to this one, with their tags. The stream of a gateway that dies ends at once. */
  readonly #senders = new Map<InternalExchange, string>();
  #scope = "";
  #isStopped = false;

  constructor(members: Members, client: InternalClient) {
    this.#members = members;
    this.#client = client;
  }

  /** Begins to send and remember changes. `scope` names the backend. */
  open(scope: string): AnswerCopies {
    this.#scope = scope;
    const withMaker = (principalId: string, kept: KeptAnswer): KeptAnswer => ({
      ...kept,
      isElsewhere: this.#isElsewhere(principalId, kept),
    });
    return {
      prepare: () => this.#openStreams(),
      send: (change) => this.#send({ ...change, by: this.#members.tag }),
      acknowledged: async () => {
        await Promise.all([...this.#streams.values()].map((stream) => stream.acknowledged(ACKNOWLEDGE_MS)));
      },
      findAsked: (principalId, askedKey) =>
        this.#recent.askedBy(principalId, askedKey).map((kept) => withMaker(principalId, kept)),
      findAnswered: (principalId, histories) => {
        const found = new Map<string, KeptAnswer>();
        for (const history of histories) {
          const kept = this.#recent.answered(principalId, history);
          if (kept) found.set(history, withMaker(principalId, kept));
        }
        return found;
      },
    };
  }

  /** Asks the other gateways for their recent answers. Resolves when they have arrived, at most after {@link START_MS}. */
  async collect(): Promise<void> {
    const wanted: Wanted = { by: this.#members.introduce() };
    const asked = this.#members.others.map((node) => this.#client.ask(node, WANT_COPIES, wanted));
    await within(Promise.allSettled(asked), START_MS);
  }

  /** Sends the recent answers to gateways that have joined. */
  welcome(): void {
    if (this.#recent.size > 0) this.#openStreams();
  }

  /** Sends the recent answers to the gateway that asks, and replies when they have arrived. */
  readonly wantHandler: InternalHandler = async (exchange) => {
    for await (const message of exchange.messages()) {
      const { by } = message as Wanted;
      // Its first heartbeat may not have been seen yet.
      this.#members.meet(by);
      this.welcome();
      await this.#streams.get(by.tag)?.acknowledged(START_MS);
      await exchange.send({});
    }
  };

  /** Remembers the changes that another gateway sends, also those that it sent just before it died. */
  readonly handler: InternalHandler = async (exchange) => {
    if (this.#isStopped) return;
    const messages = exchange.messages();
    const { from, scope } = (await messages.next()).value as CopyHello;
    this.#senders.set(exchange, from);
    try {
      let count = 0;
      for await (const message of messages) {
        const copies = message as readonly HubCopy[];
        count += copies.length;
        for (const copy of scope === this.#scope ? copies : []) this.#recent.put(copy, from);
        if (!exchange.hasUnread) exchange.send(count).catch(() => {});
      }
    } finally {
      this.#senders.delete(exchange);
    }
  };

  /** Ends the streams to this gateway, which is about to stop: they would never end by themselves. */
  leave(): void {
    for (const exchange of this.#senders.keys()) exchange.destroy();
  }

  /** Ends all streams. */
  stop(): void {
    this.#isStopped = true;
    this.leave();
    for (const stream of this.#streams.values()) stream.stop();
  }

  #send(copy: HubCopy): void {
    this.#recent.put(copy, this.#members.tag);
    // A stream that is opened now begins with all recent answers, this change included.
    for (const stream of this.#streams.values()) stream.send(copy);
    this.#openStreams();
  }

  /** Opens a stream to each receiver that has none. It lasts until its gateway is lost or ends it. */
  #openStreams(): void {
    if (this.#isStopped) return;
    const receivers = new Map(this.#receivers().map((node) => [node.tag, node]));
    for (const [tag, node] of receivers) {
      if (this.#streams.has(tag) || performance.now() - (this.#failedAt.get(tag) ?? -PAUSE_MS) < PAUSE_MS) continue;
      this.#failedAt.delete(tag);
      const stream = new CopyStream(this.#client, node, { from: this.#members.tag, scope: this.#scope });
      this.#streams.set(tag, stream);
      // Answers of other gateways are sent, too: their makers may be gone.
      for (const copy of this.#recent.list()) stream.send(copy);
      void stream.run().then(() => {
        this.#streams.delete(tag);
        this.#failedAt.set(tag, performance.now());
      });
    }
    for (const tag of this.#failedAt.keys()) if (!receivers.has(tag)) this.#failedAt.delete(tag);
    // A receiver that failed to answer once is missing from the list for a moment, so its stream is ended only if there are too many.
    if (this.#streams.size <= MAX_RECEIVERS) return;
    for (const [tag, stream] of this.#streams) if (!receivers.has(tag)) stream.stop();
  }

  /** True if another gateway makes this answer, and is still there. */
  #isElsewhere(principalId: string, kept: KeptAnswer): boolean {
    if (isComplete(kept)) return false;
    const maker = this.#recent.makerOf(principalId, kept.id);
    const isSending = maker !== undefined && [...this.#senders.values()].includes(maker);
    return isSending && this.#members.others.some(({ tag }) => tag === maker);
  }

  /** Returns the gateways that come next by name. */
  #receivers(): readonly NodeRecord[] {
    const { name, others } = this.#members;
    const ready = others.filter(({ isDraining }) => !isDraining).sort((a, b) => (a.name < b.name ? -1 : 1));
    const next = ready.filter((node) => node.name > name);
    return [...next, ...ready.filter((node) => node.name < name)].slice(0, MAX_RECEIVERS);
  }
}
