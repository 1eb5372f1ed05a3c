import { isMainThread } from "node:worker_threads";
import type { Level, OpenCodeClient } from "./plugin-api.ts";

/** Shows a message to the user. Never waits and never throws. */
export type Report = (level: Level, message: string) => void;

/**
 * Writes to OpenCode's log. Warnings and errors also go to a toast in the terminal interface, or to stderr for a
 * command. The interface runs plugins in a worker, where text on stderr would garble its screen.
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

/** A message that OpenCode does not take has nowhere else to go. */
function quietly(send: () => Promise<unknown>): void {
  void Promise.resolve()
    .then(send)
    .catch(() => {});
}
