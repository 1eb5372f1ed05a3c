import { existsSync, mkdirSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";

/** Returns the folder of config, key and state: `EXCURSOR_HOME`, else the system's usual place. */
export function homeFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const { EXCURSOR_HOME, XDG_CONFIG_HOME, APPDATA } = environment;
  if (EXCURSOR_HOME) return EXCURSOR_HOME;
  if (process.platform === "win32") return join(APPDATA ?? join(homedir(), "AppData", "Roaming"), "excursor");
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support", "excursor");
  return join(XDG_CONFIG_HOME || join(homedir(), ".config"), "excursor");
}

/** Creates the folder with mode 0700 if it is missing. Throws if others can access it. */
export function openHome(path: string): void {
  try {
    makeFolder(path);
  } catch (error) {
    throw fileError(error, `create the folder ${path}`, "home_unusable");
  }
  checkOwner(path);
  refuseMode(path, 0o077, "chmod 700");
}

/**
 * Creates the missing folders one by one: Node's `recursive` never returns in a folder that cannot have children
 * (`/proc`).
 */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // It exists, or another process has created it meanwhile.
    if (!statsOf(path)?.isDirectory()) throw error;
  }
}

/** Throws if others own or can access a file of ours (SEC-10). A missing file is fine. */
export function checkPrivate(path: string): void {
  checkOwner(path);
  refuseMode(path, 0o077, "chmod 600");
}

/**
 * Throws if others can write the config file, or read it while it has a secret. Users write this file by hand, so it
 * need not be private otherwise.
 */
export function checkConfigFile(path: string, hasSecret: boolean): void {
  checkOwner(path);
  refuseMode(path, hasSecret ? 0o077 : 0o022, "chmod 600");
}

function checkOwner(path: string): void {
  const stats = statsOf(path);
  const user = process.getuid?.();
  if (!stats || user === undefined || stats.uid === user) return;
  throw new ExcursorError("foreign_owner", [path]);
}

function refuseMode(path: string, forbidden: number, remedy: string): void {
  const stats = statsOf(path);
  // Windows has no such modes.
  if (!stats || process.getuid === undefined || (stats.mode & forbidden) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  throw new ExcursorError("mode_too_wide", `Other users can access ${path} (its mode is ${mode}).`, {
    hint: `Run: ${remedy} '${path}'`,
  });
}

const statsOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });
