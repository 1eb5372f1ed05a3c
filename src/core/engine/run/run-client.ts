import type { RequestContext } from "../../driver.ts";
import type { TraceContext } from "../../http/trace-context.ts";
import type { Elicit } from "../../hub/tool-hub.ts";
import type { RunMeter } from "../../run-meter.ts";
import type { RunObserver } from "../../run-observer.ts";

/** What a run may want from the request that it answers. */
export type ClientRequest = Pick<RequestContext, "elicit" | "observer" | "meter" | "trace">;

/**
 * The client of a run, as the run sees it. A run may live through several requests; its questions, its phases and its
 * tokens go to the request that it answers now.
 */
export class RunClient {
  /** Unset if the first request has no observer, so that unobserved runs pay nothing. */
  readonly observer: RunObserver | undefined;
  /** Whether the first request has a meter. A run without one stays unmetered, so that it pays nothing for it. */
  readonly isMetered: boolean;
  #request: ClientRequest;
  #isLost = false;
  #whenLost: (() => void) | undefined;

  constructor(request: ClientRequest) {
    this.#request = request;
    this.observer = request.observer && {
      phase: (name, atMs, reason) => this.#request.observer?.phase(name, atMs, reason),
    };
    this.isMetered = request.meter !== undefined;
  }

  get meter(): RunMeter | undefined {
    return this.#request.meter;
  }

  /** The trace of the current request. */
  readonly trace = (): TraceContext | undefined => this.#request.trace?.();

  /** Asks the user; declines if the current request has no way to ask. */
  readonly elicit: Elicit = async (question, signal) =>
    this.#request.elicit?.(question, signal) ?? { action: "decline" };

  /** Called by the driver when the run ends while it waits for results. */
  readonly onLost = (): void => {
    this.#isLost = true;
    this.#whenLost?.();
  };

  /** Another request goes on with the run. */
  changeTo(request: ClientRequest): void {
    this.#request = request;
  }

  /** Calls back when the run is lost, or at once if it already is. */
  whenLost(callback: () => void): void {
    this.#whenLost = callback;
    if (this.#isLost) callback();
  }
}
