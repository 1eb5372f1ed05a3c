import fs, { existsSync } from "node:fs";
import { join } from "node:path";

/** True if a Cursor was patched with this home folder. */
export const hasPatched = (home: string): boolean => existsSync(join(home, "ide", "records"));

/** Returns a sentence for each Cursor whose update has removed the patch. Loads nothing if none was ever patched. */
export async function findRemovedPatches(home: string): Promise<readonly string[]> {
  return hasPatched(home) ? (await import("../../ide/removed-patches.ts")).removedPatches(fs, home) : [];
}
