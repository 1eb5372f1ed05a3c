import { setTimeout as sleep } from "node:timers/promises";
import { openLoops } from "../clients/tool-loop.ts";
import { type BenchResult, median, percentile, spreadOf } from "../harness/measure.ts";
import { heldBytes, type Subject, startFloor, startGateway } from "../harness/processes.ts";
import { compare, loadNote, medianOf, ratioOf, type Testbed } from "../harness/testbed.ts";

const RUNS = 1000;
const WARM_UP = 200;
const SETTLE_MS = 500;
const KiB = 1024;

/** Measures the memory of a run that waits for a tool result. Starts a new process each time. */
export async function measureParkedRuns(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await compare(bed, async (subject) => {
    const fresh = await (subject === bed.floor ? startFloor(bed.upstream) : startGateway(bed.upstream));
    try {
      return await bytesPerRun(fresh);
    } finally {
      await fresh.stop();
    }
  });
  const name = `memory of one of ${RUNS} parked runs`;
  const kib = (bytes: number) => bytes / KiB;
  return [
    { name, value: medianOf(rounds, "gateway", kib), unit: "KiB", bound: 64 },
    { name: `${name}: to the floor's`, ...ratioOf(rounds, kib, "KiB") },
  ];
}

export async function bytesPerRun(subject: Subject): Promise<number> {
  const warm = await openLoops(subject, WARM_UP);
  for (const loop of warm.loops) await loop.goOn({ tokens: 1 });
  for (const connection of warm.connections) connection.destroy();
  await sleep(SETTLE_MS);
  const before = await heldBytes(subject);
  const { loops, connections } = await openLoops(subject, RUNS);
  await sleep(SETTLE_MS);
  const held = (await heldBytes(subject)) - before;
  // Checks that the first and the last runs are still parked.
  for (const loop of [...loops.slice(0, 10), ...loops.slice(-10)]) await loop.goOn({ tokens: 1 });
  for (const connection of connections) connection.destroy();
  return held / RUNS;
}

const PARKED = 200;
const RESUMES = 600;

/** Measures the time from a tool result to the first token, while many other runs are parked. */
export async function measureResume(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await compare(bed, measureResumes);
  const above = (share: "p50" | "p99") => {
    const values = rounds.map(({ gateway, floor }) => (gateway[share] - floor[share]) / 1000);
    return { value: median(values), unit: "ms", note: `${spreadOf(values, 1)}${loadNote(rounds)}` };
  };
  const name = `resume to first token, ${PARKED} parked`;
  return [
    { name: `${name}: p50 above the floor`, bound: 25, ...above("p50") },
    { name: `${name}: p99 above the floor`, ...above("p99") },
  ];
}

/** Returns microseconds. */
export async function measureResumes(subject: Subject): Promise<{ readonly p50: number; readonly p99: number }> {
  const { loops, connections } = await openLoops(subject, PARKED);
  const waits: number[] = [];
  for (let n = 0; n < RESUMES; n++) {
    const us = await loops[(n * 7) % PARKED]?.goOn({ id: n, tokens: 1, isCall: true });
    waits.push(us ?? Number.NaN);
  }
  for (const loop of loops) await loop.goOn({ tokens: 1 });
  for (const connection of connections) connection.destroy();
  return { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) };
}
