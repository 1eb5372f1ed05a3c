import type { RequestContext } from "../driver.ts";
import { keepCalls, type SentCalls } from "../history/sent-calls.ts";
import type { RunPhase } from "../run-observer.ts";
import type { AssistantMessage, Turn } from "../turn.ts";
import type { LossReason } from "./call-log.ts";
import type { ModelDirectory } from "./model-directory.ts";
import type { Parking } from "./parking.ts";
import type { LiveRun } from "./run/live-run.ts";
import { type HubParts, startRun } from "./start-run.ts";

/** What the engine has for all requests. */
export interface EngineParts {
  readonly models: ModelDirectory;
  readonly parking: Parking;
  readonly hub: HubParts | undefined;
  readonly sentCalls: SentCalls;
}

/** The runs of one request: it resumes a parked run or starts a new one, and parks it when it waits for tool results. */
export class RequestRuns {
  readonly #parts: EngineParts;
  readonly #turn: Turn;
  readonly #asked: Turn;
  readonly #context: RequestContext;

  /**
   * `asked` is what the driver gets: the client's turn, perhaps with more instructions. A run is parked under the client's
   * own turn, since the follow-up is compared with that.
   */
  constructor(parts: EngineParts, turn: Turn, asked: Turn, context: RequestContext) {
    this.#parts = parts;
    this.#turn = turn;
    this.#asked = asked;
    this.#context = context;
  }

  /** Resumes the parked run that the turn's results belong to. Undefined if there is none, or it cannot go on. */
  resume(): LiveRun | undefined {
    const found = this.#parts.parking.take(this.#turn, this.#context);
    if (!found) return undefined;
    if (found.type === "gone") return this.#replay(found.reason);
    const { live, results } = found;
    if (live.submitResults(results, this.#turn.messages, this.#context)) {
      this.#observe("resumed");
      return live;
    }
    live.cancel();
    return this.#replay("died");
  }

  /** Starts a new run, which gets the whole conversation. */
  start(): LiveRun {
    const driver = this.#parts.models.driverOf(this.#asked.model.id);
    return startRun(driver, this.#asked, this.#context, this.#parts.hub);
  }

  /** Starts a new run in place of a resumed one that failed before its first event. */
  replaceStalled(): LiveRun {
    this.#replay("stalled");
    return this.start();
  }

  /** Keeps a run that waits for tool results, with what it has said. */
  park(live: LiveRun, said: AssistantMessage): void {
    keepCalls(this.#parts.sentCalls, this.#turn, said);
    this.#parts.parking.park(live, this.#turn, said, this.#context);
    this.#observe("parked");
  }

  #replay(reason: LossReason): undefined {
    this.#parts.parking.replay(this.#turn, this.#context, reason);
    this.#observe("replayed", reason);
  }

  #observe(phase: RunPhase, reason?: LossReason): void {
    this.#context.observer?.phase(phase, performance.now(), reason);
  }
}
