import { createHmac, randomBytes } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { STALE_MS, sweepTemporaries, temporaryOf, writeNewFile } from "../files/durable-file.ts";
import { fileError } from "../files/file-error.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { checkPrivate, openHome } from "./home.ts";

const MIN_LENGTH = 20;
const MIN_DIFFERENT = 10;

/** Returns the key of a listener. Throws if it could be guessed, on any address (SEC-04). */
export function checkKey(key: Secret): Secret {
  const text = key.reveal();
  if (text.length >= MIN_LENGTH && new Set(text).size >= MIN_DIFFERENT) return key;
  throw new ExcursorError("weak_key", [MIN_LENGTH, MIN_DIFFERENT]);
}

/**
 * Returns a secret that is kept in the home folder: a key, or the path prefix for a tunnel. Creates it on the first
 * call.
 */
export function keyOf(home: string, name: "key" | "bridge-key" | "path-secret" = "key"): Secret {
  const path = join(home, name);
  openHome(home);
  const known = readKey(path);
  if (known) return known;
  try {
    create(path, newKey());
  } catch (error) {
    throw fileError(error, `write the key to ${path}`, "key_unwritable");
  }
  const made = readKey(path);
  if (!made) throw new ExcursorError("internal", "The key file was deleted while it was being read.");
  return made;
}

/** Returns 256 random bits; the prefix lets people and scanners recognise the key. */
export const newKey = (): string => `exc_${randomBytes(32).toString("base64url")}`;

/** Returns a secret that is made of a key, one for each purpose. Processes with the same key have the same ones. */
export const secretOf = (key: Secret, purpose: string): Secret =>
  new Secret(createHmac("sha256", key.reveal()).update(`excursor ${purpose}`).digest("base64url"));

const MAX_BYTES = 4096;

function readKey(path: string): Secret | undefined {
  checkPrivate(path);
  const text = readSmallFile(path, MAX_BYTES, "key_unreadable")?.trim();
  if (text === undefined) return undefined;
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) throw new ExcursorError("bad_key_file", [path]);
  return checkKey(new Secret(text));
}

/** Writes the key file atomically. Keeps the file that another process may have written meanwhile. */
function create(path: string, key: string): void {
  sweepTemporaries(fs, path, STALE_MS);
  const temporary = temporaryOf(path);
  writeNewFile(fs, temporary, [Buffer.from(`${key}\n`)]);
  try {
    fs.linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    fs.unlinkSync(temporary);
  }
}
