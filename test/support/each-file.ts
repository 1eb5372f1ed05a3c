import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, vi } from "vitest";
import { cleanUpAfterFile } from "./after-file.ts";

// Runs before each test file. A worker runs many files, and each must leave it as it was: a file that does not fails here, not a
// later one somewhere else.

const HANDLES = ["TCPServerWrap", "PipeServerWrap", "ProcessWrap", "FSEventWrap", "MessagePort"];

/** Servers, processes, threads and watchers that are still open. */
const openHandles = () => process.getActiveResourcesInfo().filter((name) => HANDLES.includes(name));

/** The rest of what all files of a worker share. */
const stateOfWorker = () => ({
  folder: process.cwd(),
  umask: process.umask(),
  environment: { ...process.env },
  globals: Object.entries(Object.getOwnPropertyDescriptors(globalThis)).filter(
    ([, { value }]) => typeof value === "function",
  ),
  listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
});

const [handles, state] = [openHandles(), stateOfWorker()];
const folder = mkdtempSync(join(tmpdir(), "excursor-test-"));
// As others find the usual one: some tests need files that anybody can reach.
chmodSync(folder, 0o755);
const { TMPDIR } = process.env;
process.env["TMPDIR"] = folder;

afterAll(async () => {
  await cleanUpAfterFile();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  if (TMPDIR === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = TMPDIR;
  try {
    // What was closed just now is open until its process has gone, or until the next turn of the event loop.
    await vi.waitFor(() => expect(openHandles(), "left open").toEqual(handles), { timeout: 5000, interval: 5 });
    expect(readdirSync(folder), "left in the temporary folder").toEqual([]);
    expect(stateOfWorker(), "left in the worker").toEqual(state);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
