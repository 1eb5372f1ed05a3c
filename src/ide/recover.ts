import { dirname, join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { removeFile, syncFolder, writeNewFile } from "../files/durable-file.ts";
import type { FileSystem } from "../files/file-system.ts";
import { pathIn } from "./app-file.ts";
import { digestFile } from "./digest.ts";
import type { Journal } from "./patch-record.ts";
import type { Store } from "./store.ts";

type Side = "before" | "after";
type JournalFile = Journal["files"][number];

/** Where an app stands after a recovery; `changed`: something else has written its files meanwhile, so they are left. */
export type Recovery = Side | "changed";

/**
 * Brings an app that was left in between to one of the two sides, going by the digests of its files alone; the wanted
 * side first, the other if there is no way there. Can itself be stopped at any time.
 */
export function recover(files: FileSystem, store: Store, journal: Journal, wanted: Side): Recovery {
  const sides = journal.files.map((file) => sideOf(files, journal, file));
  if (sides.includes("neither")) return settle(files, store, journal, "changed");
  if (sides.every((side) => side === "after" || side === "both")) return settle(files, store, journal, "after");
  if (sides.every((side) => side === "before" || side === "both")) return settle(files, store, journal, "before");
  const other = wanted === "before" ? "after" : "before";
  for (const goal of [wanted, other] as const) {
    const missing = journal.files.filter((_, index) => sides[index] !== goal);
    if (!missing.every((file) => stage(files, store, journal, file, goal))) continue;
    for (const file of missing) {
      files.renameSync(temporaryPath(journal, file), pathIn(journal.root, file.path));
      syncFolder(files, dirname(pathIn(journal.root, file.path)));
    }
    return settle(files, store, journal, goal);
  }
  throw new ExcursorError("io", "The app was left half changed, and what is needed to go on or back is gone.", {
    code: "ide_unrecoverable",
    hint: "Reinstall Cursor, then run this again.",
  });
}

/** Writes down where the app stands and takes away what is left of the work. */
export function settle(files: FileSystem, store: Store, journal: Journal, side: Recovery): Recovery {
  for (const file of journal.files) removeFile(files, temporaryPath(journal, file));
  if (side === "after") {
    if (journal.record) store.writeRecord(journal.record);
    else store.removeRecord(journal.root);
  }
  store.removeJournal();
  return side;
}

function sideOf(files: FileSystem, journal: Journal, { path, before, after }: JournalFile): Side | "both" | "neither" {
  const now = digestFile(files, pathIn(journal.root, path));
  if (now === before) return before === after ? "both" : "before";
  return now === after ? "after" : "neither";
}

/** Has the content ready under the temporary name; false if it is nowhere. */
function stage(files: FileSystem, store: Store, journal: Journal, file: JournalFile, goal: Side): boolean {
  const temporary = temporaryPath(journal, file);
  if (digestFile(files, temporary) === file[goal]) return true;
  const bytes = store.kept(journal.backupSet, file[goal]);
  if (!bytes) return false;
  removeFile(files, temporary);
  writeNewFile(files, temporary, [bytes], files.statSync(pathIn(journal.root, file.path)));
  return true;
}

const temporaryPath = (journal: Journal, file: JournalFile): string =>
  join(dirname(pathIn(journal.root, file.path)), file.temporary);
