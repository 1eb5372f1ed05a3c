import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import { captureTransport } from "../../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../../src/capture/recorder.ts";
import type { Driver } from "../../../src/core/driver.ts";
import type { Checkpoint } from "../../../src/core/history/checkpoints.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { createLegacyDriver } from "../../../src/drivers/cursor-legacy/driver.ts";
import { loadCassette } from "../../../src/replay/cassette.ts";
import type { SimOptions } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import { openMasked } from "../../capture/support/masked-records.ts";
import { setUpDriver } from "../../drivers/cursor/support/driver-stage.ts";
import { cassetteFile, isRecording } from "./cassette-file.ts";

/** A recorded bug: what the driver was asked to do, and what must be true of it. */
interface CassetteCase<Result> {
  /** Of the capture, `NAME.capture` in the folder `cassettes`. */
  readonly name: string;
  /** What holds since the bug was fixed. */
  readonly claim: string;
  /** Default: `cursor`. The other one speaks HTTP/2 only. */
  readonly driver?: "cursor" | "cursor-legacy";
  readonly act: (driver: Driver) => Promise<Result>;
  readonly check: (result: Result, played: Played) => void | Promise<void>;
}

interface Played {
  /** What the driver keeps for the next turn. */
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** Returns the messages whose kind begins so that the driver has sent, in order. */
  sent<Schema extends DescMessage>(kind: string, schema: Schema): Promise<readonly MessageShape<Schema>[]>;
}

/**
 * Plays a recorded backend to the real driver, over both versions of HTTP, and checks what the driver did.
 * `RECORD_CASSETTES=1` first records the case from the simulator.
 */
export function cassette<Result>(recorded: CassetteCase<Result>): void {
  const { name, claim, driver = "cursor", act, check } = recorded;
  if (isRecording) {
    test(`records ${name}`, async () => {
      await rm(cassetteFile(name), { force: true });
      const stage = await setUp(driver, "h2", {}, cassetteFile(name));
      await act(stage.driver);
      // The driver waits for the backend's last words by itself.
      await expect.poll(() => stage.openRuns()).toBe(0);
      await stage.close();
    });
  }
  test.each(driver === "cursor" ? (["h2", "h1"] as const) : (["h2"] as const))(
    `${claim}, over %s`,
    async (transport) => {
      const left: string[] = [];
      const file = join(tmpdir(), `excursor-${randomUUID()}.capture`);
      onTestFinished(() => rm(file, { force: true }));
      const sim = {
        cassette: await loadCassette(openMasked(cassetteFile(name))),
        onLeave: (text: string) => left.push(text),
      };
      const stage = await setUp(driver, transport, sim, file);
      const result = await act(stage.driver);
      await expect.poll(() => stage.openRuns()).toBe(0);
      await check(result, {
        checkpoints: stage.checkpoints,
        async sent(kind, schema) {
          await stage.close();
          const messages = (await loadCassette(openMasked(file))).calls.flatMap((call) => call.messages);
          const found = messages.filter(
            ({ direction, meaning }) => direction === "sent" && `${meaning.kind}.`.startsWith(`${kind}.`),
          );
          return found.map(({ bytes }) => fromBinary(schema, bytes));
        },
      });
      await stage.close();
      expect(left).toEqual([]);
    },
  );
}

/** Creates a driver whose calls are recorded in `file`. */
async function setUp(kind: "cursor" | "cursor-legacy", transport: "h2" | "h1", sim: Partial<SimOptions>, file: string) {
  const onEnd = (reason: string) => expect.unreachable(reason);
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e7, onEnd }));
  const wires = { h2: createConnectionPool(), h1: createHttp1Transport() };
  const transports = {
    h2: captureTransport(wires.h2, "h2", recorder),
    h1: captureTransport(wires.h1, "h1", recorder),
  };
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    wires.h2.destroy();
    wires.h1.destroy();
    recorder.close();
  };
  onTestFinished(close);
  if (kind === "cursor") {
    const stage = await setUpDriver(transport, { transports, transport }, sim);
    return { ...stage, openRuns: () => stage.sim.stats().openRuns, close };
  }
  const backend = await startSim({ legacy: "on", ...sim });
  onTestFinished(() => backend.close());
  const driver = createLegacyDriver({
    origin: backend.url,
    transport: transports.h2,
    method: "unified",
    access: createFixedAccess(new Secret("tester")),
    models: {
      list: async () => [],
      find: () => Promise.reject(new Error("nobody asks")),
      prepare: async (turn) => ({ turn, maxMode: false, ignoresEffort: false, effort: turn.model.effort }),
    },
  });
  return { driver, checkpoints: new Map<string, Checkpoint>(), openRuns: () => backend.stats().openRuns, close };
}
