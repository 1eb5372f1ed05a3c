import { setTimeout as sleep } from "node:timers/promises";
import { median, ROUNDS, spreadOf } from "./measure.ts";
import { type Subject, startFloor, startGateway, startUpstream, type Upstream } from "./processes.ts";
import { familyCpuMs, machineCpuMs } from "./usage.ts";

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

/** Measures both in turn. */
export function compare<Sample>(
  { floor, gateway }: Pick<Testbed, "floor" | "gateway">,
  measure: (subject: Subject) => Promise<Sample>,
  count = ROUNDS,
): Promise<readonly Round<Sample>[]> {
  return measureRounds((round) => inTurn(round, { floor, gateway }, measure), { count });
}

/** Measures one after the other, in reversed order every other round. */
export async function inTurn<Side extends string, Subject, Sample>(
  round: number,
  sides: Readonly<Record<Side, Subject>>,
  measure: (subject: Subject) => Promise<Sample>,
): Promise<Record<Side, Sample>> {
  const samples: [string, Sample][] = [];
  const order = Object.entries<Subject>(sides);
  for (const [side, subject] of round % 2 === 0 ? order : order.reverse()) samples.push([side, await measure(subject)]);
  return Object.fromEntries(samples) as Record<Side, Sample>;
}

/**
 * Measures the given number of rounds, after one that does not count unless `isWarm`. Each round waits for a quiet machine,
 * within limits. Rounds with other load are made up for by a few more, and the quietest are kept. The measured values do not
 * influence that choice.
 */
export async function measureRounds<Sample extends object>(
  measure: (round: number) => Promise<Sample>,
  { count = ROUNDS, extra = MAX_EXTRA_ROUNDS, isWarm = false } = {},
): Promise<readonly Quiet<Sample>[]> {
  const rounds: Quiet<Sample>[] = [];
  const isEnough = () => rounds.filter(({ foreignLoad }) => foreignLoad <= QUIET).length >= count;
  const patience = AbortSignal.timeout(PATIENCE_MS);
  for (let round = isWarm ? 1 : 0; round <= count + extra && !isEnough(); round++) {
    await untilQuiet(patience);
    const foreign = watchForeignLoad();
    const sample = await measure(round);
    if (round > 0) rounds.push({ ...sample, foreignLoad: foreign() });
  }
  return rounds.toSorted((a, b) => a.foreignLoad - b.foreignLoad).slice(0, count);
}

async function untilQuiet(patience: AbortSignal): Promise<void> {
  while (!patience.aborted) {
    const foreign = watchForeignLoad();
    await sleep(LOOK_MS);
    if (foreign() <= QUIET) return;
  }
}

/** Returns a function that reports how many cores were busy since, without this process and what it has started. */
function watchForeignLoad(): () => number {
  const ownMs = () => familyCpuMs(process.pid);
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
