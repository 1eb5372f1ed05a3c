import { isMainThread } from "node:worker_threads";
import type { Level, OpenCodeClient } from "./plugin-api.ts";

/** Tells the user of something; never waits and never throws. */
export type Report = (level: Level, message: string) => void;

/**
 * Writes to OpenCode's log, and, beyond `info`, to where the user looks: a toast in the terminal interface, stderr for a
 * command. The interface runs plugins in a worker, and text on stderr would spoil its screen.
 */
export function createReporter({ app, tui }: OpenCodeClient): Report {
  return (level, message) => {
    quietly(() => app.log({ body: { service: "excursor", level, message } }));
    if (level === "info") return;
    const variant = level === "warn" ? "warning" : level;
    quietly(() => tui.showToast({ body: { title: "Excursor", message, variant } }));
    if (isMainThread) process.stderr.write(`excursor: ${message}\n`);
  };
}

/** A message that cannot be shown is no reason to fail. */
function quietly(send: () => Promise<unknown>): void {
  void Promise.resolve()
    .then(send)
    .catch(() => {});
}
