import { realpathSync, statSync } from "node:fs";

/** The file at a path, links followed; undefined where there is none, or none that we may see, or no path at all. */
export function realFile(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
