import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, openStream } from "../clients/load.ts";
import type { BenchResult } from "../harness/measure.ts";
import { heldBytes, type Subject, startFloor, startGateway } from "../harness/processes.ts";
import { compare, medianOf, ratioOf, type Testbed } from "../harness/testbed.ts";

const STREAMS = 1000;
/** Few streams at a time, so that they leave no memory; many in all, so that the compiler has finished. */
const WARM_UP = { rounds: 100, streams: 50 };
const SETTLE_MS = 500;
const KiB = 1024;

/** Measures the memory of a stream that is open and silent after one token. Starts a new process each time. */
export async function measureIdleStreams(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await compare(bed, async (subject) => {
    const fresh = await (subject === bed.floor ? startFloor(bed.upstream) : startGateway(bed.upstream));
    try {
      return await bytesPerStream(fresh);
    } finally {
      await fresh.stop();
    }
  });
  const name = `memory of one of ${STREAMS} idle streams`;
  const kib = (bytes: number) => bytes / KiB;
  return [
    { name: `${name}: to the floor's`, bound: 2, ...ratioOf(rounds, kib, "KiB") },
    { name, value: medianOf(rounds, "gateway", kib), unit: "KiB", bound: 64 },
  ];
}

export async function bytesPerStream(subject: Subject, warmUps = WARM_UP.rounds): Promise<number> {
  for (let round = 0; round < warmUps; round++) close(await openHeld(subject, WARM_UP.streams));
  await sleep(SETTLE_MS);
  const before = await heldBytes(subject);
  const connections = await openHeld(subject, STREAMS);
  await sleep(SETTLE_MS);
  const held = (await heldBytes(subject)) - before;
  close(connections);
  return held / STREAMS;
}

function close(connections: readonly Connection[]): void {
  for (const connection of connections) connection.destroy();
}

function openHeld(subject: Subject, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, (_, id) => openStream(subject, { id, tokens: 1, isHeld: true })));
}
