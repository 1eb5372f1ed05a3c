import { readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { readCursorToken } from "../config/cursor-token.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";

/** Files of other programs, which we only read. */

const OTHERS_READ = 0o004;
const OTHERS_PASS = 0o001;

/** Refuses a file that every user of this machine can read: what is in it may be anybody's by now. */
export function checkForeign(path: string): void {
  const stats = statsOf(path);
  // Windows has no such modes. Behind a folder that others cannot pass, the file's own mode does not matter.
  if (!stats || process.getuid === undefined || (stats.mode & OTHERS_READ) === 0 || !isPassable(dirname(path))) return;
  throw new ExcursorError("forbidden", `Every user of this machine can read ${path}, so it is not used.`, {
    code: "mode_too_wide",
    hint: `Run: chmod 600 '${path}'`,
  });
}

function isPassable(folder: string): boolean {
  const stats = statsOf(folder);
  if (stats && (stats.mode & OTHERS_PASS) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || isPassable(parent);
}

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** Undefined if there is no such file. */
export function readForeign(path: string): string | undefined {
  checkForeign(path);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unreadable(path, error);
  }
}

export const unreadable = (path: string, cause: unknown): ExcursorError => {
  const code = (cause as NodeJS.ErrnoException).code ?? "unreadable";
  return new ExcursorError("forbidden", `Cannot read ${path} (${code}).`, {
    code: "source_unreadable",
    hint: "Check whose file it is, or sign in here: excursor login",
    cause,
  });
};

/** A token as other programs keep it, which must be one of Cursor's. */
export function tokenFrom(value: unknown, place: string): Secret | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  // Some keep it as JSON, quotes and all.
  const text = typeof value === "string" ? value.trim().replace(/^"(.*)"$/s, "$1") : "";
  const token = readCursorToken(text);
  if (token !== undefined) return new Secret(token);
  throw noToken(place);
}

export const noToken = (place: string): ExcursorError =>
  new ExcursorError("unauthenticated", `What ${place} has for a token is none.`, {
    code: "bad_token",
    hint: "Sign in again there, or here: excursor login",
  });
