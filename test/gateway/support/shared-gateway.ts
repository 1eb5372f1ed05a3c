import type OpenAI from "openai";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { afterFile } from "../../support/after-file.ts";
import { type Stage, setUpGateway } from "./gateway-process.ts";

interface SharedGateway {
  readonly url: string;
  readonly client: OpenAI;
  /** Of the runs that began after this gateway was asked for. */
  readonly trace: TraceEntry[];
  /** Since this gateway was asked for. */
  readonly log: () => string;
}

const gateways = new Map<string, Promise<() => SharedGateway>>();
/**
 * A gateway in this process with these flags in front of a backend with these options, the same one for all tests of a file. For tests that do not
 * stop it and do not depend on what others left in it: a start costs more than most of these tests.
 */
export async function sharedGateway(sim: Partial<SimOptions> = {}, ...flags: string[]): Promise<SharedGateway> {
  const name = JSON.stringify([sim, flags]);
  const started = gateways.get(name) ?? startShared(sim, flags);
  if (!gateways.has(name)) {
    gateways.set(name, started);
    afterFile(() => gateways.delete(name));
  }
  return (await started)();
}

async function startShared(sim: Partial<SimOptions>, flags: readonly string[]): Promise<() => SharedGateway> {
  const seen = new Set<string>();
  let earlier = new Set<string>();
  let trace: TraceEntry[] = [];
  const record = (entry: TraceEntry) => {
    if (entry.run !== "") seen.add(entry.run);
    if (!earlier.has(entry.run)) trace.push(entry);
  };
  const stage: Stage = await setUpGateway({ ...sim, trace: record }, {}, afterFile);
  const { url, client, log } = await stage.open(...flags);
  return () => {
    earlier = new Set(seen);
    trace = [];
    const logged = log().length;
    return { url, client, trace, log: () => log().slice(logged) };
  };
}
