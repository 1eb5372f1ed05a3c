import fs, { existsSync } from "node:fs";
import { join } from "node:path";

/** Returns a sentence for each Cursor whose update has removed the patch. Loads nothing if none was ever patched. */
export async function findRemovedPatches(home: string): Promise<readonly string[]> {
  if (!existsSync(join(home, "ide", "records"))) return [];
  return (await import("../../ide/removed-patches.ts")).removedPatches(fs, home);
}
