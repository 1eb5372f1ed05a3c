import type { RunContext } from "../driver.ts";
import type { Elicit } from "../hub/tool-hub.ts";

/**
 * The client of a run, as the run sees it. A run may live through several requests; its questions go to the request that
 * it answers now.
 */
export class RunClient implements Required<Pick<RunContext, "elicit" | "onLost">> {
  #elicit: Elicit | undefined;
  #isLost = false;
  #whenLost: (() => void) | undefined;

  constructor(elicit: Elicit | undefined) {
    this.#elicit = elicit;
  }

  /** Asks the user; declines if the current request has no way to ask. */
  readonly elicit: Elicit = async (question, signal) => this.#elicit?.(question, signal) ?? { action: "decline" };

  /** Called by the driver when the run ends while it waits for results. */
  readonly onLost = (): void => {
    this.#isLost = true;
    this.#whenLost?.();
  };

  /** Another request goes on with the run. */
  changeTo(elicit: Elicit | undefined): void {
    this.#elicit = elicit;
  }

  /** Calls back when the run is lost, or at once if it already is. */
  whenLost(callback: () => void): void {
    this.#whenLost = callback;
    if (this.#isLost) callback();
  }
}
