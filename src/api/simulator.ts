import { startSim } from "../sim/server.ts";
import { createLifecycle } from "./lifecycle.ts";

export interface SimulatorOptions {
  /** 0, the default, picks a free port. */
  readonly port?: number;
  /** The script for prompts without one of their own, such as `@sim say hello` (docs/simulator.md). */
  readonly script?: string;
  /** Delay before the first frame of a run. Default: 0. */
  readonly bootstrapMs?: number;
  /** Serves TLS instead of plain HTTP. PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Traces protocol violations of the client instead of failing. Default: false. */
  readonly isLenient?: boolean;
  /** Is told every message that the simulator receives (`in`) and sends (`out`). */
  readonly onMessage?: (message: SimulatorMessage) => void;
}

export interface SimulatorMessage {
  readonly dir: "in" | "out" | "-";
  /** The member of the message, such as `run_request` or `text_delta`; `request` for the start of a call. */
  readonly kind: string;
  readonly message: unknown;
}

/** Cursor's backend, simulated, in this process. Every token is accepted. */
export interface Simulator {
  /** Resolves to the same object when it accepts requests. */
  start(): Promise<Simulator>;
  /** Closes it. It can start again. */
  stop(): Promise<void>;
  /** For the setting `upstream` of a gateway, or as the backend of one of Cursor's own clients. Throws unless it runs. */
  readonly url: string;
  /** How many runs have not ended, and how many calls it did not know. */
  stats(): { readonly openRuns: number; readonly unknownCalls: number };
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates a simulated backend. Nothing happens before {@link Simulator.start}. */
export function createSimulator({ onMessage: trace, ...options }: SimulatorOptions = {}): Simulator {
  const { start, stop, current } = createLifecycle("The simulator", () => startSim({ trace, ...options }));
  const simulator: Simulator = {
    async start() {
      await start();
      return simulator;
    },
    stop: () => stop((opened) => opened.close()),
    get url() {
      return current().url;
    },
    stats() {
      const { openRuns, unknownCalls } = current().stats();
      return { openRuns, unknownCalls };
    },
    [Symbol.asyncDispose]: () => simulator.stop(),
  };
  return simulator;
}
