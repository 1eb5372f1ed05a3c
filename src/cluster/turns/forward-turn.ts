import type { RequestContext } from "../../core/driver.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { Turn } from "../../core/turn.ts";
import { within } from "../../core/within.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import { connectionLost, type InternalExchange } from "../internal/internal-exchange.ts";
import {
  decodeError,
  type EncodedContext,
  encodeTurn,
  type FromHome,
  questionIn,
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
  const messages = singly(exchange.messages() as AsyncGenerator<readonly FromHome[], void>);
  const next = () =>
    within(messages.next(), silenceMs, () => {
      exchange.destroy();
      throw new Error(`The home node was silent for ${silenceMs} ms.`);
    });
  const cancel = () => exchange.send({ type: "cancel" } satisfies ToHome).catch(() => {});
  if (signal.aborted) void cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  let isOver = false;
  /** Notices alone are no answer yet: they wait for the first event. */
  let notices: readonly TurnEvent[] | undefined = [];
  try {
    for (;;) {
      const message = await next().catch((error: unknown) => lost(error, notices !== undefined));
      if (message.done) lost(undefined, notices !== undefined);
      const { value } = message;
      isOver = value.type === "over" || value.type === "failed";
      if (value.type === "over") break;
      if (value.type === "failed") throw decodeError(value.error);
      if (value.type !== "events") {
        hear(value, context, exchange);
        continue;
      }
      let events = turn.showsActivity ? value.events.map((event) => withAnswer(event, exchange)) : value.events;
      if (notices !== undefined) {
        notices = [...notices, ...events];
        if (notices.every(({ type }) => type === "notice")) continue;
        events = notices;
        notices = undefined;
      }
      if (value.grown) context.meter?.grow?.(...value.grown);
      yield events;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    if (!isOver) await leave(exchange, messages, context, cancel);
    void drain(messages);
  }
}

/** Returns the messages of frames one by one. */
async function* singly(frames: AsyncGenerator<readonly FromHome[], void>): AsyncGenerator<FromHome, void> {
  for await (const messages of frames) yield* messages;
}

/** Cancels the run and hears what it has used. */
async function leave(
  exchange: InternalExchange,
  messages: AsyncGenerator<FromHome, void>,
  context: RequestContext,
  cancel: () => unknown,
): Promise<void> {
  cancel();
  const heard = (async () => {
    for (;;) {
      const { done, value } = await messages.next();
      if (done || value.type === "over" || value.type === "failed") return;
      if (value.type !== "events") hear(value, context, exchange);
    }
  })().catch(() => {});
  await within(heard, LAST_WORDS_MS, () => exchange.destroy());
}

/** Reads up to the end, so that the connection can be used again. */
async function drain(messages: AsyncGenerator<FromHome, void>): Promise<void> {
  try {
    while (!(await messages.next()).done);
  } catch {
    // The connection is lost, and is not used again.
  }
}

type Told = Exclude<FromHome, { readonly type: "events" | "over" | "failed" }>;

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
): ToHome => ({
  type: "turn",
  turn: encodeTurn(turn),
  context: {
    requestId,
    tools,
    hops,
    trace: trace?.(),
    canAsk: elicit !== undefined,
    wantsAnswer: observer?.answered !== undefined,
    late,
  },
});

function lost(error: unknown, isEarly: boolean): never {
  if (isEarly) throw new NotForwarded("lost", { cause: error });
  throw connectionLost(error).with({ retryable: false });
}
