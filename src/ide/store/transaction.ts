import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { syncFolder, TEMPORARY, writeNewFile } from "../../files/durable-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { type AppFile, type AppPath, expectUnchanged, pathIn } from "../app/app-file.ts";
import { type Digest, digestOf } from "../app/digest.ts";
import type { Journal, PatchRecord } from "./patch-record.ts";
import { recover, settle } from "./recover.ts";
import type { Store } from "./store.ts";

export interface Replacement {
  readonly current: AppFile;
  readonly before: Digest;
  readonly after: Digest;
  /** Returns the new content. May be called several times. */
  readonly content: () => Iterable<Uint8Array>;
}

export interface Transaction {
  readonly kind: "patch" | "restore";
  readonly root: string;
  /** Where {@link Store.keep} has put the originals. */
  readonly backupSet: string;
  /** In the order in which they change: a file comes before the file with its checksum. */
  readonly replacements: readonly Replacement[];
  readonly record: PatchRecord | null;
  /** Checks the new files before they are used; throws if one is wrong. */
  readonly verify?: (paths: readonly string[]) => Promise<void>;
}

/**
 * Replaces files of the app: all of them or none. Every new file is complete and on the disk before the first is
 * renamed into place. If this is interrupted, the journal has enough to finish or to undo it (REL-54).
 */
export async function runTransaction(files: FileSystem, store: Store, transaction: Transaction): Promise<void> {
  const { root, replacements } = transaction;
  const journal = journalOf(transaction);
  const temporaries = journal.files.map((file) => join(dirname(pathIn(root, file.path)), file.temporary));
  store.writeJournal(journal);
  try {
    for (const [index, { current, content }] of replacements.entries()) {
      writeNewFile(files, temporaries[index] ?? "", content(), current.stats);
    }
    await transaction.verify?.(temporaries);
    for (const { current } of replacements) expectUnchanged(files, root, current);
    for (const [index, { current }] of replacements.entries()) {
      const place = pathIn(root, current.path);
      files.renameSync(temporaries[index] ?? "", place);
      syncFolder(files, dirname(place));
    }
  } catch (error) {
    recover(files, store, journal, "before");
    throw error;
  }
  settle(files, store, journal, "after");
}

function journalOf({ kind, root, backupSet, replacements, record }: Transaction): Journal {
  const nonce = randomBytes(8).toString("hex");
  const files = replacements.map(({ current: { path }, before, after }) => {
    return { path, temporary: temporaryName(path, nonce), before, after };
  });
  return { format: 1, kind, root, backupSet, files, record };
}

/** With the ending `.mjs`, Node's syntax check treats the bundles as modules. */
const temporaryName = (path: AppPath, nonce: string): string =>
  `${basename(path)}${TEMPORARY}${nonce}${path.endsWith(".js") ? ".mjs" : ""}`;

export function replaceBy(current: AppFile, before: Digest, content: () => Iterable<Uint8Array>): Replacement {
  return { current, before, after: digestOf(content()), content };
}
