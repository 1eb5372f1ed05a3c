import { setTimeout as sleep } from "node:timers/promises";
import { median, ROUNDS, spreadOf } from "./measure.ts";
import { type Subject, startFloor, startGateway, startUpstream, type Upstream } from "./processes.ts";
import { cpuMs, machineCpuMs } from "./usage.ts";

/** The gateway and the floor, in front of the same backend. */
export interface Testbed {
  readonly upstream: Upstream;
  readonly floor: Subject;
  readonly gateway: Subject;
  stop(): Promise<void>;
}

export async function openTestbed(): Promise<Testbed> {
  const upstream = await startUpstream();
  const [floor, gateway] = await Promise.all([startFloor(upstream), startGateway(upstream)]);
  return {
    upstream,
    floor,
    gateway,
    stop: async () => {
      await Promise.all([floor.stop(), gateway.stop()]);
      upstream.stop();
    },
  };
}

/** A sample, and the cores that other processes used meanwhile. */
export type Quiet<Sample> = Sample & { readonly foreignLoad: number };

export type Round<Sample> = Quiet<{ readonly floor: Sample; readonly gateway: Sample }>;

const MAX_EXTRA_ROUNDS = 3;
/** In cores. */
const QUIET = 0.1;
const LOOK_MS = 300;
/** How long a figure waits in total for a quiet machine. */
const PATIENCE_MS = 15_000;

/** Measures both in turn, in reversed order every other round. */
export function compare<Sample>(
  bed: Testbed,
  measure: (subject: Subject) => Promise<Sample>,
  count = ROUNDS,
): Promise<readonly Round<Sample>[]> {
  const both = async (round: number) => {
    const isReversed = round % 2 === 1;
    const first = await measure(isReversed ? bed.gateway : bed.floor);
    const second = await measure(isReversed ? bed.floor : bed.gateway);
    return isReversed ? { floor: second, gateway: first } : { floor: first, gateway: second };
  };
  return measureRounds(bed, both, count);
}

/**
 * Measures the given number of rounds, after one that does not count. Each round waits for a quiet machine, within
 * limits. Rounds with other load are made up for by a few more, and the quietest are kept. The measured values do not
 * influence that choice.
 */
export async function measureRounds<Sample extends object>(
  { upstream, floor, gateway }: Testbed,
  measure: (round: number) => Promise<Sample>,
  count = ROUNDS,
): Promise<readonly Quiet<Sample>[]> {
  const rounds: Quiet<Sample>[] = [];
  const isEnough = () => rounds.filter(({ foreignLoad }) => foreignLoad <= QUIET).length >= count;
  const pids = [upstream.pid, floor.pid, gateway.pid];
  const patience = AbortSignal.timeout(PATIENCE_MS);
  for (let round = 0; round <= count + MAX_EXTRA_ROUNDS && !isEnough(); round++) {
    await untilQuiet(pids, patience);
    const foreign = watchForeignLoad(pids);
    const sample = await measure(round);
    if (round > 0) rounds.push({ ...sample, foreignLoad: foreign() });
  }
  return rounds.toSorted((a, b) => a.foreignLoad - b.foreignLoad).slice(0, count);
}

async function untilQuiet(pids: readonly number[], patience: AbortSignal): Promise<void> {
  while (!patience.aborted) {
    const foreign = watchForeignLoad(pids);
    await sleep(LOOK_MS);
    if (foreign() <= QUIET) return;
  }
}

/** Returns a function that reports how many cores were busy since, with neither this nor these processes. */
function watchForeignLoad(pids: readonly number[]): () => number {
  const ownMs = () => [process.pid, ...pids].reduce((sum, pid) => sum + cpuMs(pid), 0);
  const [start, machine, own] = [performance.now(), machineCpuMs(), ownMs()];
  return () => Math.max(0, (machineCpuMs() - machine - (ownMs() - own)) / (performance.now() - start));
}

/** Returns the median of the rounds' ratios, with a note on their spread and the underlying values. */
export function ratioOf<Sample>(
  rounds: readonly Round<Sample>[],
  pick: (sample: Sample) => number,
  unit: string,
): { readonly value: number; readonly note: string } {
  const ratios = rounds.map(({ floor, gateway }) => pick(gateway) / pick(floor));
  const [ours, theirs] = [medianOf(rounds, "gateway", pick), medianOf(rounds, "floor", pick)];
  return {
    value: median(ratios),
    note: `${spreadOf(ratios, 2)}; ${figure(ours)} against ${figure(theirs)} ${unit}${loadNote(rounds)}`,
  };
}

export function medianOf<Sample>(
  rounds: readonly Round<Sample>[],
  side: "gateway" | "floor",
  pick: (sample: Sample) => number,
): number {
  return median(rounds.map((round) => pick(round[side])));
}

/** Returns a note if other processes used the machine. */
export function loadNote(rounds: readonly Quiet<object>[]): string {
  const most = Math.max(...rounds.map(({ foreignLoad }) => foreignLoad));
  return most <= QUIET ? "" : `; others had up to ${most.toFixed(1)} cores`;
}

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
