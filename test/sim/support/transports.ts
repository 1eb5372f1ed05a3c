import { onTestFinished } from "vitest";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { type Simulator, startSim } from "../../../src/sim/server.ts";
import { BackendClient, type ClientOptions } from "./backend-client.ts";

export const TRANSPORTS = ["h2", "h1"] as const;

export interface Stage {
  readonly sim: Simulator;
  readonly client: BackendClient;
  readonly trace: TraceEntry[];
  /** Another client of the same backend. */
  connect(options?: Partial<ClientOptions>): BackendClient;
}

/** A simulator with its trace and a client, all gone after the test. */
export async function setUp(
  transport: "h2" | "h1",
  client: Partial<ClientOptions> = {},
  options: Partial<SimOptions> = {},
): Promise<Stage> {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry), ...options });
  onTestFinished(() => sim.close());
  const connect = (more: Partial<ClientOptions> = {}) => {
    const connected = new BackendClient({ url: sim.url, transport, ...client, ...more });
    onTestFinished(() => connected.close());
    return connected;
  };
  return { sim, client: connect(), trace, connect };
}
