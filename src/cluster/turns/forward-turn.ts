import type { RequestContext } from "../../core/driver.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { Turn } from "../../core/turn.ts";
import { within } from "../../core/within.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import { connectionLost, type InternalExchange } from "../internal/internal-exchange.ts";
import { SilenceWatch } from "./silence-watch.ts";
import {
  decodeError,
  decodeEvents,
  type EncodedContext,
  encodeMessages,
  encodeTurn,
  type FromHome,
  questionIn,
  shortenTurn,
  type ToHome,
} from "./turn-message.ts";

/** How long the home node may take to tell what a cancelled run has used. */
const LAST_WORDS_MS = 2000;

/** A home node that sends nothing for so long is lost: it says several times meanwhile that it is alive. */
const SILENCE_MS = 15_000;

/** Failed before the first event: another gateway can answer the turn from the transcript. */
export class NotForwarded extends Error {}

/**
 * Has the run's home node answer a turn. Batches arrive as they are made; a slow reader slows the home node down. Throws
 * {@link NotForwarded} if the home node cannot be reached, or is lost or silent before the first event.
 */
export async function* forwardTurn(
  client: InternalClient,
  home: InternalAddress,
  turn: Turn,
  context: RequestContext,
  { late, silenceMs = SILENCE_MS }: { readonly late?: EncodedContext["late"]; readonly silenceMs?: number } = {},
): AsyncGenerator<readonly TurnEvent[], void> {
  const { signal } = context;
  const request = encodeRequest(turn, context, late);
  const exchange = await client.open(home, "turn", request, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new NotForwarded("unreachable", { cause: error });
  });
  const frames = exchange.messages() as AsyncGenerator<readonly FromHome[], void>;
  /** The rest of the last frame. */
  const unread: FromHome[] = [];
  const silence = new SilenceWatch(silenceMs, exchange);
  const cancel = () => exchange.send({ type: "cancel" } satisfies ToHome).catch(() => {});
  if (signal.aborted) void cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  let isOver = false;
  /** Notices alone are no answer yet: they wait for the first event. */
  let notices: readonly TurnEvent[] | undefined = [];
  try {
    while (!isOver) {
      const frame = await silence.next(frames).catch((error: unknown) => lost(error, notices !== undefined));
      if (frame.done) lost(undefined, notices !== undefined);
      unread.push(...frame.value);
      for (let message = unread.shift(); message; message = unread.shift()) {
        isOver = message.type === "over" || message.type === "failed";
        if (message.type === "over") break;
        if (message.type === "failed") throw decodeError(message.error);
        if (message.type === "unknown") {
          const messages = encodeMessages(turn.messages);
          exchange.send({ type: "messages", messages } satisfies ToHome).catch(() => {});
          continue;
        }
        if (message.type !== "events") {
          hear(message, context, exchange);
          continue;
        }
        const sent = decodeEvents(message.events);
        let events = turn.showsActivity ? sent.map((event) => withAnswer(event, exchange)) : sent;
        if (notices !== undefined) {
          notices = [...notices, ...events];
          if (notices.every(({ type }) => type === "notice")) continue;
          events = notices;
          notices = undefined;
        }
        if (message.grown) context.meter?.grow?.(...message.grown);
        yield events;
      }
    }
  } finally {
    silence.stop();
    signal.removeEventListener("abort", cancel);
    if (!isOver) await leave(exchange, frames, unread, context, cancel);
    void drain(frames);
  }
}

/** Cancels the run and hears what it has used. */
async function leave(
  exchange: InternalExchange,
  frames: AsyncGenerator<readonly FromHome[], void>,
  unread: readonly FromHome[],
  context: RequestContext,
  cancel: () => unknown,
): Promise<void> {
  cancel();
  const heard = (async () => {
    let messages: readonly FromHome[] | undefined = unread;
    while (messages) {
      for (const message of messages) {
        if (message.type === "over" || message.type === "failed") return;
        if (message.type !== "events" && message.type !== "unknown") hear(message, context, exchange);
      }
      messages = (await frames.next()).value ?? undefined;
    }
  })().catch(() => {});
  await within(heard, LAST_WORDS_MS, () => exchange.destroy());
}

/** Reads up to the end, so that the connection can be used again. */
async function drain(frames: AsyncGenerator<readonly FromHome[], void>): Promise<void> {
  try {
    while (!(await frames.next()).done);
  } catch {
    // The connection is lost, and is not used again.
  }
}

type Told = Exclude<FromHome, { readonly type: "events" | "unknown" | "over" | "failed" }>;

function hear(message: Told, context: RequestContext, exchange: InternalExchange): void {
  const { observer, meter, elicit, signal } = context;
  switch (message.type) {
    case "phase":
      observer?.phase(message.name, performance.now() - message.agoMs, message.reason);
      return;
    case "used":
      meter?.used(message.usage, message.origin);
      return;
    case "answered":
      observer?.answered?.(message.message, message.reason);
      return;
    case "elicit": {
      const { id, question } = message;
      const reply = async () => {
        const answer = (await elicit?.(question, signal)) ?? { action: "decline" as const };
        await exchange.send({ type: "elicited", id, answer } satisfies ToHome);
      };
      reply().catch(() => {});
    }
  }
}

/** Returns the event with a question that can be answered, if it has one. */
function withAnswer(event: TurnEvent, exchange: InternalExchange): TurnEvent {
  const question = questionIn(event);
  if (!question) return event;
  const { id } = question;
  const answer = (optionId: string | undefined) =>
    void exchange.send({ type: "chosen", id, optionId } satisfies ToHome).catch(() => {});
  return { type: "activity", activity: { ...question, answer } };
}

const encodeRequest = (
  turn: Turn,
  { requestId, tools, hops, trace, elicit, observer }: RequestContext,
  late: EncodedContext["late"],
): ToHome => {
  const { turn: short, after } = shortenTurn(turn, observer);
  return {
    type: "turn",
    turn: encodeTurn(short),
    after,
    context: {
      requestId,
      tools,
      hops,
      trace: trace?.(),
      canAsk: elicit !== undefined,
      wantsAnswer: observer?.answered !== undefined,
      late,
    },
  };
};

function lost(error: unknown, isEarly: boolean): never {
  if (isEarly) throw new NotForwarded("lost", { cause: error });
  throw connectionLost(error).with({ retryable: false });
}
