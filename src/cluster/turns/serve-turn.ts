import type { Question } from "../../core/activity.ts";
import type { RequestContext } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent, Usage } from "../../core/events.ts";
import type { Elicit, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import type { RunMeter } from "../../core/run-meter.ts";
import type { RunObserver } from "../../core/run-observer.ts";
import type { Turn } from "../../core/turn.ts";
import type { InternalExchange } from "../internal/internal-exchange.ts";
import type { InternalHandler } from "../internal/internal-listener.ts";
import type { LateUsage } from "./late-usage.ts";
import {
  decodeMessages,
  decodeTurn,
  type EncodedContext,
  encodeError,
  encodeEvents,
  type FromHome,
  questionIn,
  type ToHome,
} from "./turn-message.ts";

/**
 * How long the messages after the first event gather, so that the hop is paid per frame and not per token. A reader does not
 * notice it.
 */
const GATHER_MS = 5;

/** How often the other gateway hears that this one is alive. It gives up after three times as long. */
const ALIVE_MS = 5000;

/** Watches the runs of a forwarded turn on their home node. The receiving gateway records the request. */
interface ForwardedRuns {
  readonly meter: Required<Pick<RunMeter, "opens" | "goesOn" | "used">>;
  readonly observer: RunObserver;
  /** The request is over. */
  end(): void;
}

/** `onCorrected` gets usage that the upstream has reported after it was told. */
export type WatchForwarded = (requestId: string, turn: Turn, onCorrected: (difference: Usage) => void) => ForwardedRuns;

interface ServeOptions {
  readonly engine: Engine;
  readonly watch: WatchForwarded;
  readonly onServed: () => void;
  /** Tells another gateway of usage that was reported late. */
  readonly tellLate: (tag: string, late: LateUsage) => void;
  readonly aliveMs?: number;
}

/** Returns the handler of turns that other gateways forward to this one, the home node of the turn's run. */
export const serveTurns =
  ({ engine, watch, onServed, tellLate, aliveMs = ALIVE_MS }: ServeOptions): InternalHandler =>
  async (exchange) => {
    const messages = exchange.messages();
    const first = (await messages.next()).value as ToHome | undefined;
    if (first?.type !== "turn") throw new ExcursorError("upstream-protocol", "A forwarded request has no turn.");
    onServed();
    const turn = await readTurn(first, engine, exchange, messages);
    const { requestId, late } = first.context;
    const runs = watch(requestId, turn, (difference) => late && tellLate(late.tag, { id: late.id, difference }));
    const request = new ForwardedRequest(exchange, first.context, runs);
    void request.listen(messages);
    const alive = setInterval(() => void request.sayAlive(), aliveMs).unref();
    try {
      for await (const events of engine.run(turn, request.context)) await request.pass(events);
      await engine.settled?.();
      request.tell({ type: "over" });
    } catch (error) {
      request.tell({ type: "failed", error: encodeError(ExcursorError.from(error)) });
    } finally {
      clearInterval(alive);
      await request.flush();
      runs.end();
    }
  };

/** Returns the turn with its whole conversation: that of the parked run, or the one that the other gateway sends then. */
async function readTurn(
  { turn: encoded, after }: Extract<ToHome, { readonly type: "turn" }>,
  engine: Pick<Engine, "transcriptOf">,
  exchange: InternalExchange,
  messages: AsyncIterator<unknown, void>,
): Promise<Turn> {
  const turn = decodeTurn(encoded);
  if (!after) return turn;
  const before = engine.transcriptOf(after.runId, turn.principal.id, after.historyKey);
  if (before) return { ...turn, messages: [...before, ...turn.messages] };
  await exchange.send([{ type: "unknown" } satisfies FromHome]);
  const next = (await messages.next()).value as ToHome | undefined;
  if (next?.type !== "messages") throw new ExcursorError("canceled", "The other gateway gave the request up.");
  return { ...turn, messages: decodeMessages(next.messages) };
}

/** A message before its events are encoded. */
type Outgoing =
  | Exclude<FromHome, { readonly type: "events" }>
  | (Extract<FromHome, { readonly type: "events" }> & { readonly events: readonly TurnEvent[] });

/** A forwarded turn, seen as a request by the engine of the home node. */
class ForwardedRequest {
  readonly context: RequestContext;
  readonly #exchange: InternalExchange;
  readonly #canceled = new AbortController();
  readonly #questions = new Map<number, (answer: ElicitationAnswer) => void>();
  /** Questions of agents that were passed on, by id. */
  readonly #choices = new Map<string, Question>();
  readonly #outbox: Outgoing[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  /** The last frame that was sent; pending while the other gateway reads slowly. */
  #sending: Promise<void> = Promise.resolve();
  #hasBegun = false;
  #asked = 0;
  #grown: readonly [number, number] | undefined;

  constructor(exchange: InternalExchange, sent: EncodedContext, runs: ForwardedRuns) {
    this.#exchange = exchange;
    const { requestId, tools, hops, trace, canAsk, wantsAnswer } = sent;
    this.context = {
      requestId,
      tools,
      hops,
      signal: this.#canceled.signal,
      trace: trace && (() => trace),
      elicit: canAsk ? this.#elicit : undefined,
      observer: this.#observer(runs.observer, wantsAnswer),
      meter: this.#meter(runs.meter),
    };
  }

  /** Reads what the receiving gateway sends until the answer is over. A lost connection cancels the run. */
  async listen(messages: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const message of messages as AsyncIterable<ToHome>) {
        if (message.type === "cancel") this.#canceled.abort();
        if (message.type === "elicited") this.#questions.get(message.id)?.(message.answer);
        if (message.type === "chosen") this.#choices.get(message.id)?.answer(message.optionId);
      }
    } catch {
      this.#canceled.abort();
    }
  }

  /** Says that this gateway is alive; not while the other one reads slowly, since it has enough to read then. */
  async sayAlive(): Promise<void> {
    await this.#sending;
    this.tell({ type: "alive" });
  }

  /**
   * Passes a batch of the answer on. The first is sent at the end of this turn of the event loop. Waits while the other gateway
   * reads slowly.
   */
  async pass(events: readonly TurnEvent[]): Promise<void> {
    for (const event of events) {
      const question = questionIn(event);
      if (question) this.#choices.set(question.id, question);
    }
    const last = this.#outbox.at(-1);
    const gathered = last?.type === "events" ? [...last.events, ...events] : events;
    if (last?.type === "events") this.#outbox.pop();
    this.tell({ type: "events", events: gathered, ...(this.#grown && { grown: this.#grown }) });
    if (!this.#hasBegun) this.#immediate = setImmediate(() => void this.flush());
    this.#hasBegun = true;
    await this.#sending;
  }

  /** Sends a message soon, together with others. */
  tell(message: Outgoing): void {
    this.#outbox.push(message);
    this.#timer ??= setTimeout(() => void this.flush(), GATHER_MS);
  }

  /** Sends what has gathered. A lost connection shows elsewhere. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    const messages = this.#outbox
      .splice(0)
      .map(
        (message): FromHome =>
          message.type === "events" ? { ...message, events: encodeEvents(message.events) } : message,
      );
    const isLast = messages.some(({ type }) => type === "over" || type === "failed");
    if (messages.length > 0) this.#sending = this.#exchange.send(messages, isLast).catch(() => {});
    return this.#sending;
  }

  /** The receiving gateway has called `served` before, since its limits may refuse the turn. */
  #observer(own: RunObserver, wantsAnswer: boolean): RunObserver {
    return {
      phase: (name, atMs, reason) => {
        own.phase(name, atMs, reason);
        this.tell({ type: "phase", name, agoMs: performance.now() - atMs, ...(reason && { reason }) });
      },
      served: (model, driver) => own.served?.(model, driver),
      answered: wantsAnswer ? (message, reason) => this.tell({ type: "answered", message, reason }) : undefined,
    };
  }

  #meter(own: ForwardedRuns["meter"]): RunMeter {
    return {
      used: (usage, origin) => {
        own.used(usage, origin);
        this.tell({ type: "used", usage, origin });
      },
      grow: (input, output) => {
        this.#grown = [input, output];
      },
      opens: () => own.opens(),
      goesOn: (run) => own.goesOn(run),
    };
  }

  readonly #elicit: Elicit = (question, signal) =>
    new Promise((resolve, reject) => {
      const id = this.#asked++;
      const settle = (answer: ElicitationAnswer) => {
        this.#questions.delete(id);
        resolve(answer);
      };
      this.#questions.set(id, settle);
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      this.tell({ type: "elicit", id, question });
    });
}
