import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { syncFolder, TEMPORARY, writeNewFile } from "../files/durable-file.ts";
import type { FileSystem } from "../files/file-system.ts";
import { type AppFile, type AppPath, expectUnchanged, pathIn } from "./app-file.ts";
import { type Digest, digestOf } from "./digest.ts";
import type { Journal, PatchRecord } from "./patch-record.ts";
import { recover, settle } from "./recover.ts";
import type { Store } from "./store.ts";

/** One file of the app and what shall stand in its place. */
export interface Replacement {
  readonly current: AppFile;
  readonly before: Digest;
  readonly after: Digest;
  /** The new content, as often as it is asked for. */
  readonly content: () => Iterable<Uint8Array>;
}

export interface Transaction {
  readonly kind: "patch" | "restore";
  readonly root: string;
  /** Where {@link Store.keep} has put the originals. */
  readonly backupSet: string;
  /** In the order in which they change: what is checked before what it is checked by. */
  readonly replacements: readonly Replacement[];
  readonly record: PatchRecord | null;
  /** Looks at the new files before any of them is used; throws if one is wrong. */
  readonly verify?: (paths: readonly string[]) => Promise<void>;
}

/**
 * Replaces files of the app: all of them or none. Every new file is complete and on the disk before the first takes its
 * place by a rename. Whenever this stops, the journal has what it takes to finish or to take back (REL-54).
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

/** Node's syntax check goes by the name: the bundles are modules. */
const temporaryName = (path: AppPath, nonce: string): string =>
  `${basename(path)}${TEMPORARY}${nonce}${path.endsWith(".js") ? ".mjs" : ""}`;

/** A replacement whose content is in memory in pieces. */
export function replaceBy(current: AppFile, before: Digest, content: () => Iterable<Uint8Array>): Replacement {
  return { current, before, after: digestOf(content()), content };
}
