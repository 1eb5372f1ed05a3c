import type {
  Amounts,
  Claim,
  SharedSpending,
  SpendRequest,
  SpendVerdict,
} from "../../../usage/limits/shared-spending.ts";
import type { Unsettled, UnsettledAmounts } from "../../../usage/limits/unsettled.ts";
import type { RedisClient, RedisLink } from "../redis-link.ts";
import type { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";
import type { WriteBehind } from "../write-behind.ts";
import { EXTEND, RENEW, RESERVE, SETTLE } from "./spending-scripts.ts";

export interface RedisSpendingOptions {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
  /** Spent, but perhaps not counted yet. */
  readonly unsettled: UnsettledAmounts;
}

const UNITS = ["tokens", "dollars"] as const;

/** How long what was set aside outlives a node that is gone. */
const HOLD_MS = 5 * 60_000;
const RENEW_MS = 60_000;

/** How long it is known that a request was counted. */
const SETTLED_MS = 24 * 3_600_000;

/** The reply to a settlement without seeds if Redis does not know a window. */
const UNKNOWN = -1;
const NO_SEED = () => "";

/** Counts what all nodes spend in Redis, with one script for each step of a request. */
export class RedisSpending implements SharedSpending {
  readonly #options: RedisSpendingOptions;
  /** Requests under way that have set something aside. */
  readonly #open = new Map<string, SpendRequest>();
  /** Principals whose seed was compared with Redis since it came back: it may have lost what it knew. */
  readonly #compared = new Set<string>();
  readonly #renewal: NodeJS.Timeout;
  readonly #stop: () => void;
  #hasReturned = false;
  #corrections = 0;

  constructor(options: RedisSpendingOptions) {
    this.#options = options;
    this.#stop = options.link.onChange((isUp) => {
      if (!isUp) return;
      this.#hasReturned = true;
      this.#compared.clear();
      this.#settleLeft();
    });
    this.#renewal = setInterval(() => {
      this.#renew();
      this.#settleLeft();
    }, RENEW_MS).unref();
    this.#settleLeft();
  }

  async reserve(request: SpendRequest, amounts: Amounts): Promise<SpendVerdict | undefined> {
    const verdict = await this.#ask(RESERVE, request, amounts);
    if (verdict?.type === "held") this.#open.set(request.id, request);
    return verdict;
  }

  extend(request: SpendRequest, amounts: Amounts): Promise<SpendVerdict | undefined> {
    return this.#ask(EXTEND, request, amounts);
  }

  settle(request: SpendRequest, spent: Amounts): void {
    this.#open.delete(request.id);
    this.#count(request, request.id, spent);
  }

  correct(request: SpendRequest, difference: Amounts): void {
    if (UNITS.every((unit) => difference[unit] === 0)) return;
    this.#corrections++;
    this.#count(request, `${request.id}:${this.#corrections}`, difference);
  }

  close(): void {
    clearInterval(this.#renewal);
    this.#stop();
  }

  async #ask(script: RedisScript, request: SpendRequest, amounts: Amounts): Promise<SpendVerdict | undefined> {
    const { link } = this.#options;
    const raises = this.#hasReturned && !this.#compared.has(request.principalId);
    const given = [
      request.id,
      String(request.liftedAt),
      String(HOLD_MS),
      raises ? "1" : "0",
      ...UNITS.map((unit) => String(amounts[unit])),
      ...request.claims.flatMap((claim) => [
        ...nameOf(claim),
        String(claim.amount),
        String(this.#seedOf(request, claim)),
      ]),
    ];
    const reply = await link.ask(
      (client) => script.run(client, this.#keys(request), given),
      () => undefined,
    );
    if (reply === undefined) return undefined;
    if (raises) this.#compared.add(request.principalId);
    return readVerdict(reply);
  }

  #count(request: SpendRequest, id: string, spent: Amounts): void {
    const unsettled = { ...request, id, claims: request.claims.map(plain), spent };
    this.#options.unsettled.put(unsettled);
    void this.#options.writes.add({
      bytes: 1024,
      write: async (client: RedisClient) => {
        // Redis has lost what it knew, so it gets the seeds. They need a look at the record.
        if ((await this.#settle(client, unsettled)) === UNKNOWN) {
          await this.#settle(client, unsettled, (at) => {
            const claim = request.claims[at];
            return claim ? String(this.#seedOf(request, claim)) : "";
          });
        }
        this.#options.unsettled.drop(id);
      },
    });
  }

  #settle(client: RedisClient, request: Unsettled, seedOf: (claim: number) => string = NO_SEED): Promise<unknown> {
    const { id, principalId, liftedAt, claims, spent } = request;
    const mark = this.#options.link.key("settled", digest(principalId), id);
    return SETTLE.run(
      client,
      [...this.#keys(request), mark],
      [
        id,
        String(SETTLED_MS),
        String(liftedAt),
        ...claims.flatMap((claim, at) => [...nameOf(claim), String(spent[claim.unit]), seedOf(at)]),
      ],
    );
  }

  /**
   * Settles what other processes with the same record have left: they are gone, or have not come to it yet. It counts once,
   * whoever settles it first. What Redis does not know of is left for later, since its seed does not have it either.
   */
  #settleLeft(): void {
    const { unsettled, writes } = this.#options;
    for (const request of unsettled.left()) {
      void writes.add({
        bytes: 1024,
        write: async (client) => {
          if ((await this.#settle(client, request)) !== UNKNOWN) unsettled.drop(request.id);
        },
      });
    }
  }

  /** What the record says, without what Redis is still to be told. */
  #seedOf({ principalId, conversation }: SpendRequest, claim: Claim): number {
    // In this order: what another process writes in between is left out, and counted when it is settled.
    let seed = claim.seed(conversation);
    for (const other of this.#options.unsettled.of(principalId)) {
      if (claim.window !== "conversation" || other.conversation === conversation) seed -= other.spent[claim.unit];
    }
    return Math.max(0, seed);
  }

  #keys({ principalId, conversation, claims }: Omit<Unsettled, "id" | "spent">): readonly string[] {
    const { link } = this.#options;
    const owner = digest(principalId);
    const principal = link.key("spend", owner);
    const isPerConversation = claims.some(({ window }) => window === "conversation");
    return [
      principal,
      isPerConversation ? link.key("spend", owner, digest(conversation)) : principal,
      link.key("holds", owner),
      link.key("expiry", owner),
    ];
  }

  /** Renews what is set aside for requests under way. */
  #renew(): void {
    const { link } = this.#options;
    const owners = Map.groupBy(this.#open.values(), ({ principalId }) => principalId);
    for (const [principalId, requests] of owners) {
      const ids = requests.map(({ id }) => id);
      void link.ask(
        (client) => RENEW.run(client, [link.key("expiry", digest(principalId))], [String(HOLD_MS), ...ids]),
        () => undefined,
      );
    }
  }
}

type PlainClaim = Unsettled["claims"][number];

const plain = ({ unit, window, fromMs }: Claim): PlainClaim => ({ unit, window, fromMs });

const nameOf = ({ unit, window, fromMs }: PlainClaim): readonly string[] => [
  window === "conversation" ? "c" : "p",
  unit,
  window,
  String(fromMs),
];

function readVerdict(reply: unknown): SpendVerdict | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [type, ...values] = reply.map(String);
  if (type === "reached" || type === "reserved") {
    return { type, claim: Number(values[0]), spent: Number(values[1]) };
  }
  const [tokens = 0, dollars = 0, ...spent] = values.map(Number);
  return { type: "held", amounts: { tokens, dollars }, spent };
}
