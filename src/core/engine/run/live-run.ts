import type { Run } from "../../driver.ts";
import type { TurnEvent } from "../../events.ts";
import type { Message, ToolMessage } from "../../turn.ts";
import type { CallNames } from "./call-names.ts";
import type { ClientRequest, RunClient } from "./run-client.ts";

/** A run of a driver with what the engine knows of it: the names that its tool calls have outside, and its client. */
export class LiveRun {
  readonly #run: Run;
  readonly #names: CallNames;
  readonly #client: RunClient;

  constructor(run: Run, names: CallNames, client: RunClient) {
    this.#run = run;
    this.#names = names;
    this.#client = client;
  }

  /** The ids of its tool calls begin with it. */
  get id(): string {
    return this.#names.runId;
  }

  /** Begins a loop over its events, up to the next `done`. */
  events(): AsyncIterator<readonly TurnEvent[]> {
    return this.#run[Symbol.asyncIterator]();
  }

  /** Returns events with the call ids that the client sees. */
  rename(events: readonly TurnEvent[]): readonly TurnEvent[] {
    return this.#names.rename(events);
  }

  /** Resumes it for another request, with results that have the client's call ids. False if it cannot go on. */
  submitResults(results: readonly ToolMessage[], history: readonly Message[], request: ClientRequest): boolean {
    this.#client.changeTo(request);
    const named = results.map((result) => ({ ...result, callId: this.#names.toDriver(result.callId) }));
    return this.#run.submitResults(named, history);
  }

  /** Calls back if it ends while it waits for results; at once if that has happened. */
  whenLost(callback: () => void): void {
    this.#client.whenLost(callback);
  }

  cancel(): void {
    this.#run.cancel();
  }
}
