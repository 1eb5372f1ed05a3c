import { existsSync, mkdirSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";

/** Where config, key and state are: `EXCURSOR_HOME`, else where this system keeps such things. */
export function homeFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const { EXCURSOR_HOME, XDG_CONFIG_HOME, APPDATA } = environment;
  if (EXCURSOR_HOME) return EXCURSOR_HOME;
  if (process.platform === "win32") return join(APPDATA ?? join(homedir(), "AppData", "Roaming"), "excursor");
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support", "excursor");
  return join(XDG_CONFIG_HOME || join(homedir(), ".config"), "excursor");
}

/** Makes the folder if need be, for its owner alone, and refuses one that others can look into. */
export function openHome(path: string): void {
  try {
    makeFolder(path);
  } catch (error) {
    throw fileError(error, `make the folder ${path}`, {
      kind: "forbidden",
      code: "home_unusable",
      hint: "Set EXCURSOR_HOME to a folder that you may write to.",
    });
  }
  checkOwner(path);
  refuseMode(path, 0o077, "chmod 700");
}

/** Level by level: where a folder exists and takes none all the same (`/proc`), Node's own `recursive` never ends. */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // There already, or another process was quicker.
    if (!statsOf(path)?.isDirectory()) throw error;
  }
}

/** Refuses a file of ours that is not its owner's alone (SEC-10). One that is not there is fine. */
export function checkPrivate(path: string): void {
  checkOwner(path);
  refuseMode(path, 0o077, "chmod 600");
}

/** People write this one by hand: others may read it as long as there is no secret in it, and never write it. */
export function checkConfigFile(path: string, hasSecret: boolean): void {
  checkOwner(path);
  refuseMode(path, hasSecret ? 0o077 : 0o022, "chmod 600");
}

function checkOwner(path: string): void {
  const stats = statsOf(path);
  const user = process.getuid?.();
  if (!stats || user === undefined || stats.uid === user) return;
  throw new ExcursorError("forbidden", `${path} belongs to another user.`, {
    code: "foreign_owner",
    hint: "Set EXCURSOR_HOME to a folder of your own.",
  });
}

function refuseMode(path: string, forbidden: number, remedy: string): void {
  const stats = statsOf(path);
  // Windows has no such modes.
  if (!stats || process.getuid === undefined || (stats.mode & forbidden) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  throw new ExcursorError("forbidden", `Other users may look into ${path} (its mode is ${mode}).`, {
    code: "mode_too_wide",
    hint: `Run: ${remedy} '${path}'`,
  });
}

const statsOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });
