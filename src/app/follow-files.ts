import { fileStamp } from "../config/file-stamp.ts";

const EVERY_MS = 1000;

/**
 * Calls back when one of the files is changed, created or deleted. Polls, because file events are unreliable for
 * replaced files and mounted folders.
 */
export function followFiles(paths: readonly string[], onChange: (path: string) => void): () => void {
  const stamps = new Map(paths.map((path) => [path, stampOf(path)]));
  const timer = setInterval(() => {
    for (const path of paths) {
      const stamp = stampOf(path);
      if (stamp === stamps.get(path)) continue;
      stamps.set(path, stamp);
      onChange(path);
    }
  }, EVERY_MS).unref();
  return () => clearInterval(timer);
}

function stampOf(path: string): string {
  try {
    return fileStamp(path);
  } catch {
    return "none";
  }
}
