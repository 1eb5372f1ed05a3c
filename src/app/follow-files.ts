import { fileStamp } from "../config/file-stamp.ts";

const EVERY_MS = 1000;

/**
 * Tells when one of the files has changed, come or gone. By looking, not by being told: what the systems tell of files that
 * are replaced, or of folders that are mounted, is not worth much.
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
