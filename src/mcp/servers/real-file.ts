import { realpathSync, statSync } from "node:fs";

/** Returns the file at a path, with links resolved; undefined if there is none that we may see. */
export function realFile(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
