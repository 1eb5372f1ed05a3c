import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { startGroup } from "../../src/process/process-group.ts";
import { createWatchdog } from "../../src/process/watchdog.ts";
import { isAlive, untilGone } from "./support/alive.ts";

const support = (name: string) => fileURLToPath(new URL(`support/${name}`, import.meta.url));

async function lines(stream: Readable, count: number): Promise<string[]> {
  const read: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    read.push(line);
    if (read.length === count) break;
  }
  return read;
}

describe("a process group (SEC-44)", () => {
  it.each(["polite", "deaf"])("ends with all that it has started: %s", async (manner) => {
    const args = [support("family.ts"), manner];
    const group = await startGroup({ command: process.execPath, args, environment: {}, watchdog: createWatchdog() });
    const [line = ""] = await lines(group.child.stdout, 1);
    const pids: number[] = JSON.parse(line);
    expect(pids.every(isAlive)).toBe(true);
    await group.end();
    await untilGone(...pids);
    // One that ends with its stdin is spared the signal.
    const { exitCode, signalCode } = group.child;
    expect([exitCode, signalCode]).toEqual(manner === "polite" ? [0, null] : [null, "SIGKILL"]);
  });

  it("does not outlive us, however we die", async () => {
    const keeper = spawn(process.execPath, [support("keeper.ts")], { stdio: ["ignore", "pipe", "inherit"] });
    const pids: number[] = (await lines(keeper.stdout, 3)).flatMap((line) => JSON.parse(line));
    expect(pids).toHaveLength(6);
    expect(pids.every(isAlive)).toBe(true);
    keeper.kill("SIGKILL");
    await once(keeper, "exit");
    await untilGone(...pids);
  });

  it("rejects if there is no such program", async () => {
    const options = { command: "no-such-program-here", args: [], environment: {}, watchdog: createWatchdog() };
    await expect(startGroup(options)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
