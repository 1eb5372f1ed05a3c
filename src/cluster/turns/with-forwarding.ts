import type { RequestContext } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import { answeredCall, trailingResults } from "../../core/engine/parking.ts";
import { tagOf } from "../../core/engine/run/call-names.ts";
import type { TurnEvent } from "../../core/events.ts";
import { LimitReached } from "../../core/limits/limit-reached.ts";
import type { Turn } from "../../core/turn.ts";
import type { Log } from "../../observe/log.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import type { ForwardCounts } from "./forward-counts.ts";
import { forwardTurn, NotForwarded } from "./forward-turn.ts";
import type { ForwardedMeters } from "./late-usage.ts";
import { encodeTurn } from "./turn-message.ts";

/** The gateways that a turn can be forwarded to. */
interface ForwardTargets {
  /** The tag of this gateway. */
  readonly tag: string;
  /** True if this gateway is about to stop. */
  readonly isDraining: boolean;
  find(tag: string): Promise<InternalAddress | undefined>;
  pickOther(): InternalAddress | undefined;
  forget(tag: string): void;
}

export interface ForwardingOptions {
  readonly targets: ForwardTargets;
  readonly client: InternalClient;
  readonly counts: ForwardCounts;
  readonly meters: ForwardedMeters;
  /** Returns the name of the driver that answers for a model. */
  readonly route: (model: string) => string | undefined;
  readonly log: Log;
}

/**
 * Wraps the engine so that a follow-up is answered by the home node of its run, whichever gateway of the cluster got it. The
 * tag in the call ids names the home node. If that is gone, the turn is answered here: the conversation is replayed from the
 * client's transcript, as after a restart. A gateway that is about to stop has others answer new turns.
 */
export function withForwarding(engine: Engine, options: ForwardingOptions): Engine {
  const { targets } = options;
  return {
    ...engine,
    run(turn, context) {
      const tag = tagOf(answeredCall(turn.messages) ?? "");
      if (tag === targets.tag) return engine.run(turn, context);
      if (tag === undefined && !targets.isDraining) return engine.run(turn, context);
      return forwardOrRun(engine, tag, turn, context, options);
    },
  };
}

async function* forwardOrRun(
  engine: Engine,
  tag: string | undefined,
  turn: Turn,
  context: RequestContext,
  options: ForwardingOptions,
): AsyncGenerator<readonly TurnEvent[], void> {
  const { targets, client, counts, meters, log } = options;
  const home = tag === undefined ? undefined : await targets.find(tag);
  const target = home ?? (targets.isDraining ? targets.pickOther() : undefined);
  if (!target) {
    if (tag !== undefined) counts.add("gone");
    yield* engine.run(turn, context);
    return;
  }
  await checkLimits(turn, context, target, options);
  try {
    const late = context.meter && { tag: targets.tag, id: meters.keep(context.meter) };
    yield* forwardTurn(client, target, turn, context, { late });
    counts.add("forwarded");
  } catch (error) {
    if (!(error instanceof NotForwarded) || context.signal.aborted) {
      counts.add("failed");
      throw error;
    }
    counts.add("gone");
    targets.forget(target.tag);
    const { requestId } = context;
    log.info(
      { requestId, home: target.advertise, cause: String(error.cause) },
      "home node gone; the turn is answered here",
    );
    yield* engine.run(turn, context);
  }
}

/** The limits of a key hold where the request arrived. The home node is told of a refusal, since it holds the run. */
async function checkLimits(
  turn: Turn,
  { observer }: RequestContext,
  home: InternalAddress,
  options: ForwardingOptions,
): Promise<void> {
  try {
    await observer?.served?.(turn.model.id, options.route(turn.model.id) ?? "");
  } catch (error) {
    if (error instanceof LimitReached) {
      const { keepsRun } = error;
      const results = { ...turn, messages: trailingResults(turn.messages) };
      options.client.ask(home, "refuse", { turn: encodeTurn(results), keepsRun }).catch(() => {});
    }
    throw error;
  }
}
