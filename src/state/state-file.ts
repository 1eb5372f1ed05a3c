import {
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";

/** SQLite's companion files. SQLite gives them the mode of the database file. */
const COMPANIONS = ["-wal", "-shm"] as const;

/** Creates the file with mode 0600 if it is missing. Throws if others can write to its directory or read the file. */
export function prepareStateFile(path: string): void {
  const directory = dirname(path);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    checkOurs(directory, statSync(directory), 0o022, "chmod 700");
    createFile(path);
    const file = lstatSync(path);
    if (!file.isFile()) throw notOurs("is not a regular file", `Check ${path}.`);
    checkOurs(path, file, 0o077, "chmod 600");
  } catch (error) {
    throw fileError(error, "make the state file", "state_unusable");
  }
}

/** Renames a file to a name beside it that no file has. Returns the new path. */
export function putAside(path: string, mark: string): string {
  let aside = `${path}.${mark}`;
  for (let count = 2; existsSync(aside); count++) aside = `${path}.${mark}-${count}`;
  return renameWhole(path, aside);
}

/** Renames a file to one name beside it, and replaces the file that has this name. Returns the new path. */
export function replaceAside(path: string, mark: string): string {
  const aside = `${path}.${mark}`;
  for (const suffix of ["", ...COMPANIONS]) rmSync(aside + suffix, { force: true });
  return renameWhole(path, aside);
}

/** Renames the companions first: beside a new file they would be taken for its own. */
function renameWhole(path: string, aside: string): string {
  for (const suffix of [...COMPANIONS, ""]) {
    try {
      renameSync(path + suffix, aside + suffix);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return aside;
}

function createFile(path: string): void {
  try {
    const file = openSync(path, "wx", 0o600);
    // The umask may have removed permissions.
    fchmodSync(file, 0o600);
    closeSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function checkOurs(path: string, { uid, mode }: Stats, forbidden: number, remedy: string): void {
  const own = process.getuid?.();
  // On Windows, owners and modes mean nothing.
  if (own === undefined) return;
  if (uid !== own) throw notOurs("belongs to another user", `Check ${path}.`);
  if ((mode & forbidden) !== 0) throw notOurs("can be accessed by others", `Run \`${remedy} ${path}\`.`);
}

const notOurs = (what: string, hint: string): ExcursorError =>
  new ExcursorError("state_unsafe", `The state file or its folder ${what}.`, { hint });
