import { dirname, join } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import { removeFile, syncFolder, writeNewFile } from "../../files/durable-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { pathIn } from "../app/app-file.ts";
import { digestFile } from "../app/digest.ts";
import type { Journal } from "./patch-record.ts";
import type { Store } from "./store.ts";

type Side = "before" | "after";
type JournalFile = Journal["files"][number];

/** The state of an app after a recovery. `changed`: something else has written its files meanwhile, so they stay. */
export type Recovery = Side | "changed";

/**
 * Completes or undoes an interrupted change, judging by the digests of the files alone. Tries the wanted side first,
 * then the other. May itself be interrupted at any time.
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
  throw new ExcursorError("ide_unrecoverable");
}

/** Records the state of the app and deletes temporary files and the journal. */
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

/** Prepares the content under the temporary name. Returns false if the content is missing. */
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
