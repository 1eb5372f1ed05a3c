import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { checkPrivate, openHome } from "./home.ts";

/** A shorter one in the file was cut off, or made up by hand. */
const MIN_KEY_LENGTH = 16;

/** A key that is kept in the home folder, the gateway's or the bridge's; made on the first call. */
export function keyOf(home: string, name: "key" | "bridge-key" = "key"): Secret {
  const path = join(home, name);
  openHome(home);
  const known = readKey(path);
  if (known) return known;
  try {
    create(path, newKey());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ExcursorError("forbidden", `Cannot write the key to ${path} (${code ?? "unknown"}).`, {
      code: "key_unwritable",
      hint: "Set EXCURSOR_HOME to a folder that you may write to, or give a key by EXCURSOR_KEY.",
      cause: error,
    });
  }
  const made = readKey(path);
  if (!made) throw new ExcursorError("internal", "The key file vanished while it was read.");
  return made;
}

/** 256 random bits; the prefix lets people and scanners tell what it is. */
export const newKey = (): string => `exc_${randomBytes(32).toString("base64url")}`;

function readKey(path: string): Secret | undefined {
  checkPrivate(path);
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ExcursorError("forbidden", `Cannot read the key in ${path}.`, { code: "key_unreadable", cause: error });
  }
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) throw badKeyFile(`There is no usable key in ${path}.`);
  if (text.length < MIN_KEY_LENGTH) {
    throw badKeyFile(
      `The key in ${path} has ${text.length} characters and could be guessed; ${MIN_KEY_LENGTH} are the least.`,
    );
  }
  return new Secret(text);
}

const badKeyFile = (message: string): ExcursorError =>
  new ExcursorError("config", message, {
    code: "bad_key_file",
    hint: "Delete that file: the next start makes a new key.",
  });

/** Whole or not at all, and never over one that another process has made meanwhile. */
function create(path: string, key: string): void {
  const temporary = `${path}.${randomBytes(8).toString("hex")}`;
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeSync(file, `${key}\n`);
    fsyncSync(file);
    closeSync(file);
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(temporary);
  }
}
