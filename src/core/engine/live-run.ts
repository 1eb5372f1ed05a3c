import { randomBytes } from "node:crypto";
import type { Run, RunContext } from "../driver.ts";
import type { TurnEvent } from "../events.ts";
import type { Elicit } from "../hub/tool-hub.ts";
import type { Message, ToolMessage } from "../turn.ts";

const FORM = /^(sess_[\w-]{22})__call_\d+$/;

/** Returns the id of the run that made a tool call; undefined if the call id is not ours. */
export const runIdOf = (callId: string): string | undefined => FORM.exec(callId)?.[1];

/** What the ids of the calls of one answer begin with. */
export const newRunId = (): string => `sess_${randomBytes(16).toString("base64url")}`;

/**
 * A run with the names its tool calls have outside: `sess_<random>__call_<n>`, so that a result finds its way back, and
 * nobody who has not seen one can make one up.
 */
export class LiveRun {
  #id: string | undefined;
  readonly #run: Run;
  /** Made when it is needed, too. */
  #names: CallNames | undefined;
  #isLost = false;
  #onLost: (() => void) | undefined;
  #elicit: Elicit | undefined;

  /**
   * What the run is given is its own: requests come and go, and the run may outlive them. `nameOf` gives the name that a
   * call has outside.
   */
  constructor(
    open: (own: Pick<RunContext, "onLost" | "elicit">, nameOf: (idInside: string) => string) => Run,
    elicit?: Elicit,
  ) {
    this.#elicit = elicit;
    const own = {
      onLost: () => {
        this.#isLost = true;
        this.#onLost?.();
      },
      elicit: async (...question: Parameters<Elicit>) =>
        this.#elicit?.(...question) ?? ({ action: "decline" } as const),
    };
    this.#run = open(own, (idInside) => this.#nameOf(idInside));
  }

  /** Made when it is needed: most runs call nothing, and randomness has its price. */
  get id(): string {
    this.#id ??= newRunId();
    return this.#id;
  }

  /** A loop over what happens next, up to the next `done`. */
  events(): AsyncIterator<readonly TurnEvent[]> {
    return this.#run[Symbol.asyncIterator]();
  }

  /** Events as they may be shown. */
  rename(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (!events.some(isCall)) return events;
    return events.map((event) => (isCall(event) ? { ...event, id: this.#nameOf(event.id) } : event));
  }

  /**
   * Brings results to it, each under the name its call has outside; from now on whoever brought them is asked what the
   * user is asked. False if it cannot go on.
   */
  submitResults(results: readonly ToolMessage[], history: readonly Message[], elicit?: Elicit): boolean {
    this.#elicit = elicit;
    const inside = results.map((result) => ({
      ...result,
      callId: this.#names?.inside.get(result.callId) ?? result.callId,
    }));
    return this.#run.submitResults(inside, history);
  }

  /** Calls back once it can go on no more although it waits, at once if that is so already. */
  whenLost(callback: () => void): void {
    this.#onLost = callback;
    if (this.#isLost) callback();
  }

  cancel(): void {
    this.#run.cancel();
  }

  #nameOf(idInside: string): string {
    this.#names ??= { outside: new Map(), inside: new Map() };
    const { outside, inside } = this.#names;
    const known = outside.get(idInside);
    if (known !== undefined) return known;
    const name = `${this.id}__call_${outside.size}`;
    outside.set(idInside, name);
    inside.set(name, idInside);
    return name;
  }
}

/** The ids of calls, by each other. */
interface CallNames {
  readonly outside: Map<string, string>;
  readonly inside: Map<string, string>;
}

type CallEvent = Extract<TurnEvent, { readonly id: string }>;

const isCall = (event: TurnEvent): event is CallEvent => "id" in event;
