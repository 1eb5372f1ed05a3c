import { constants, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import type { FileSystem } from "../../files/file-system.ts";

/**
 * The files that a patch may change: the bundles that may hold the class, and product.json with their checksums. No
 * other file is ever written.
 */
export const BUNDLES = [
  "out/vs/workbench/workbench.desktop.main.js",
  "out/vs/workbench/workbench.glass.main.js",
] as const;
export const PRODUCT = "product.json";
export type AppPath = (typeof BUNDLES)[number] | typeof PRODUCT;

export interface AppFile {
  readonly path: AppPath;
  readonly bytes: Buffer;
  readonly stats: Stats;
}

/** Whole bundles are read into memory. */
const MAX_BYTES = 512 * 1024 * 1024;
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** Returns the path of a file of the app. Takes forward slashes, returns the system's separators. */
export const pathIn = (root: string, path: AppPath): string => join(root, ...path.split("/"));

/**
 * Returns undefined if there is no such file. `root` must be a real path. `suffix`: reads a file beside it, whose name has
 * this at its end.
 */
export function readAppFile(files: FileSystem, root: string, path: AppPath, suffix = ""): AppFile | undefined {
  const place = pathIn(root, path) + suffix;
  const found = files.lstatSync(place, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile() || files.realpathSync(place) !== place) {
    throw unsafe(
      path,
      "is reached through a symbolic link and may belong to something else (a Nix store, a shared folder)",
    );
  }
  if (found.size > MAX_BYTES) throw unsafe(path, "is far larger than a bundle can be");
  const file = files.openSync(place, constants.O_RDONLY | NO_FOLLOW);
  try {
    const stats = files.fstatSync(file);
    if (stats.ino !== found.ino || stats.dev !== found.dev) throw changed(path);
    return { path, bytes: files.readFileSync(file), stats };
  } finally {
    files.closeSync(file);
  }
}

/** Throws if the file has changed since it was read (SEC-61). */
export function expectUnchanged(files: FileSystem, root: string, { path, stats }: AppFile): void {
  const now = files.lstatSync(pathIn(root, path), { throwIfNoEntry: false });
  const isSame =
    now !== undefined &&
    now.ino === stats.ino &&
    now.dev === stats.dev &&
    now.size === stats.size &&
    now.mtimeMs === stats.mtimeMs;
  if (!isSame) throw changed(path);
}

/** Throws if others share the file or could replace it while we work (SEC-61). */
export function expectOwn(files: FileSystem, root: string, { path, stats }: AppFile): void {
  if (stats.nlink > 1) throw unsafe(path, "has a second hard link, so a change would affect another file");
  const user = process.getuid?.();
  if (user === undefined) return;
  if (user === 0 && stats.uid !== 0) {
    throw unsafe(path, `belongs to user ${stats.uid}: run this as that user, not as root`);
  }
  const folder = files.statSync(dirname(pathIn(root, path)));
  if ((folder.mode & 0o002) !== 0) throw unsafe(path, "is in a folder that every user of this machine can write to");
}

const unsafe = (path: string, why: string): ExcursorError => new ExcursorError("ide_unsafe_target", `${path} ${why}.`);

const changed = (path: string): ExcursorError => new ExcursorError("ide_changed_meanwhile", [path]);
