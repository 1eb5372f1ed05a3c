import { readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { readCursorToken } from "../config/cursor-token.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";

/** Permission bits for all users of the machine. */

const OTHERS_READ = 0o004;
const OTHERS_PASS = 0o001;

/** Throws if every user of this machine can read the file: its token may have been stolen. */
export function checkForeign(path: string): void {
  const stats = statsOf(path);
  // Windows has no such modes. If others cannot enter a parent folder, the file's own mode does not matter.
  if (!stats || process.getuid === undefined || (stats.mode & OTHERS_READ) === 0 || !isPassable(dirname(path))) return;
  throw new ExcursorError("mode_too_wide", `${path} is not used, because every user of this machine can read it.`, {
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

/** Returns undefined if there is no such file. */
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
  return new ExcursorError("source_unreadable", [path, code], { cause });
};

/** Parses a token as another program stores it. Throws if it is not a Cursor token. */
export function tokenFrom(value: unknown, place: string): Secret | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  // Some programs store it as JSON, with quotes.
  const text = typeof value === "string" ? value.trim().replace(/^"(.*)"$/s, "$1") : "";
  const token = readCursorToken(text);
  if (token !== undefined) return new Secret(token);
  throw noToken(place);
}

export const noToken = (place: string): ExcursorError =>
  new ExcursorError("bad_token", `${place} does not contain a valid token.`, {
    hint: "Sign in again with that program, or here: excursor login",
  });
