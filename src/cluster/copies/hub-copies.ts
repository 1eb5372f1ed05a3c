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

/** How many other gateways have a copy. In a larger cluster each tells the next ones by name. */
const MAX_KEEPERS = 8;

/** How long a call waits until the others know of it. A gateway that needs longer is not waited for until it has caught up. */
const TELL_MS = 1000;

/** How long a gateway that could not be told is left alone. */
const PAUSE_MS = 250;

/** How long the start waits to be told what has happened before. */
const START_MS = 2000;

/** The name of the request of a gateway that has joined. */
export const WANT_COPIES = "want-copies";

/** Its message. */
interface Wanted {
  readonly by: NodeRecord;
}

/** What the store of the hub's answers needs. */
export interface AnswerCopies {
  /** A change may follow soon. */
  prepare(): void;
  /** Tells the other gateways. */
  tell(change: HubChange): void;
  /** Resolves when the others have all changes so far; at most after {@link TELL_MS}. */
  told(): Promise<void>;
  /** Returns answers to a request on all gateways, as far as this one was told. */
  findAsked(principalId: string, askedKey: string): readonly KeptAnswer[];
  /** Returns answers that end these histories. */
  findAnswered(principalId: string, histories: readonly string[]): ReadonlyMap<string, KeptAnswer>;
}

type Members = Pick<Membership, "name" | "tag" | "others" | "introduce" | "meet">;

/**
 * Tells the other gateways what this one's hub does, and remembers what theirs do. So no call is made twice if a gateway dies
 * while Redis is away or late, or has lost what it knew.
 */
export class HubCopies {
  readonly #members: Members;
  readonly #client: InternalClient;
  readonly #recent = new RecentAnswers();
  /** By the tag of the other gateway. */
  readonly #streams = new Map<string, CopyStream>();
  /** When a gateway could not be told, by its tag. */
  readonly #failedAt = new Map<string, number>();
  /** The requests of gateways that tell this one, with their tags. A gateway that dies loses its request at once. */
  readonly #tellers = new Map<InternalExchange, string>();
  #scope = "";
  #isStopped = false;

  constructor(members: Members, client: InternalClient) {
    this.#members = members;
    this.#client = client;
  }

  /** Begins to remember. `scope` names the backend. */
  open(scope: string): AnswerCopies {
    this.#scope = scope;
    const withMaker = (principalId: string, kept: KeptAnswer): KeptAnswer => ({
      ...kept,
      isElsewhere: this.#isElsewhere(principalId, kept),
    });
    return {
      prepare: () => this.#openStreams(),
      tell: (change) => this.#tell({ ...change, by: this.#members.tag }),
      told: async () => void (await Promise.all([...this.#streams.values()].map((one) => one.kept(TELL_MS)))),
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

  /** Asks the other gateways what has happened before this one has joined. Resolves when it is told, at most after some time. */
  async collect(): Promise<void> {
    const wanted: Wanted = { by: this.#members.introduce() };
    const asked = this.#members.others.map((node) => this.#client.ask(node, WANT_COPIES, wanted));
    await within(Promise.allSettled(asked), START_MS);
  }

  /** Begins to tell gateways that have joined. */
  welcome(): void {
    if (this.#recent.size > 0) this.#openStreams();
  }

  /** Tells a gateway that has joined what has happened before. */
  readonly wantHandler: InternalHandler = async (exchange) => {
    for await (const message of exchange.messages()) {
      const { by } = message as Wanted;
      // Its first heartbeat may not have been seen yet.
      this.#members.meet(by);
      this.welcome();
      await this.#streams.get(by.tag)?.kept(START_MS);
      await exchange.send({});
    }
  };

  /** Remembers what another gateway tells, also what it has sent before it died. */
  readonly handler: InternalHandler = async (exchange) => {
    if (this.#isStopped) return;
    const messages = exchange.messages();
    const { from, scope } = (await messages.next()).value as CopyHello;
    this.#tellers.set(exchange, from);
    try {
      let count = 0;
      for await (const message of messages) {
        const copies = message as readonly HubCopy[];
        count += copies.length;
        for (const copy of scope === this.#scope ? copies : []) this.#recent.put(copy, from);
        if (!exchange.hasUnread) exchange.send(count).catch(() => {});
      }
    } finally {
      this.#tellers.delete(exchange);
    }
  };

  /** Ends the streams of the others to this gateway, which is about to stop: they would never end by themselves. */
  leave(): void {
    for (const exchange of this.#tellers.keys()) exchange.destroy();
  }

  /** Tells nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.leave();
    for (const stream of this.#streams.values()) stream.stop();
  }

  #tell(copy: HubCopy): void {
    this.#recent.put(copy, this.#members.tag);
    // A stream that is opened now begins with all that is recent.
    for (const stream of this.#streams.values()) stream.tell(copy);
    this.#openStreams();
  }

  /** A stream lasts until its gateway is lost or ends it. */
  #openStreams(): void {
    if (this.#isStopped) return;
    const keepers = new Map(this.#keepers().map((node) => [node.tag, node]));
    for (const [tag, node] of keepers) {
      if (this.#streams.has(tag) || performance.now() - (this.#failedAt.get(tag) ?? -PAUSE_MS) < PAUSE_MS) continue;
      this.#failedAt.delete(tag);
      const stream = new CopyStream(this.#client, node, { from: this.#members.tag, scope: this.#scope });
      this.#streams.set(tag, stream);
      // Those of other gateways, too: they may be gone.
      for (const copy of this.#recent.list()) stream.tell(copy);
      void stream.run().then(() => {
        this.#streams.delete(tag);
        this.#failedAt.set(tag, performance.now());
      });
    }
    for (const tag of this.#failedAt.keys()) if (!keepers.has(tag)) this.#failedAt.delete(tag);
    // Not otherwise: a gateway that did not answer once is missing for a moment.
    if (this.#streams.size <= MAX_KEEPERS) return;
    for (const [tag, stream] of this.#streams) if (!keepers.has(tag)) stream.stop();
  }

  /** True if another gateway makes this answer, and is still there. */
  #isElsewhere(principalId: string, kept: KeptAnswer): boolean {
    if (isComplete(kept)) return false;
    const maker = this.#recent.makerOf(principalId, kept.id);
    const isTelling = maker !== undefined && [...this.#tellers.values()].includes(maker);
    return isTelling && this.#members.others.some(({ tag }) => tag === maker);
  }

  /** The gateways that come next by name. */
  #keepers(): readonly NodeRecord[] {
    const { name, others } = this.#members;
    const ready = others.filter(({ isDraining }) => !isDraining).sort((a, b) => (a.name < b.name ? -1 : 1));
    const next = ready.filter((node) => node.name > name);
    return [...next, ...ready.filter((node) => node.name < name)].slice(0, MAX_KEEPERS);
  }
}
