import { join } from "node:path";
import { z } from "zod";
import { fileStamp } from "../config/file-stamp.ts";
import { checkPrivate } from "../config/home.ts";
import { createHomeLock } from "../config/home-lock.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import type { ProcessLock } from "../files/process-lock.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { parseVersionedJson } from "../files/versioned-json.ts";
import { writePrivate } from "../files/write-private.ts";
import type { AccountStoreOptions } from "./account-store.ts";
import { keychainEntry, tryKeychain } from "./keychain.ts";

/** A sign-in at a server, as stored in the file. If it is kept in the keychain, the file has no secret. */
const LoginSchema = z.discriminatedUnion("kept", [
  z.object({ kept: z.literal("file"), url: z.string(), login: z.string() }),
  z.object({ kept: z.literal("keychain"), url: z.string() }),
]);

const VERSION = 1;
const FileSchema = z.object({ version: z.literal(VERSION), logins: z.record(z.string(), LoginSchema) });

type WrittenLogins = z.infer<typeof FileSchema>["logins"];

/** Sign-ins at other servers, by name and address. The content is opaque here. */
export interface ServerLogins {
  readonly path: string;
  readonly lock: ProcessLock;
  /** Returns a value that differs after every change by any process. Cheap. */
  stamp(): string;
  names(): readonly string[];
  read(name: string, url: string): Promise<Secret | undefined>;
  /** The caller holds the lock. */
  write(name: string, url: string, login: Secret): Promise<void>;
  /** The caller holds the lock. Returns false if there was none. */
  remove(name: string): Promise<boolean>;
}

export function createServerLogins({ home, keychain, onNotice }: AccountStoreOptions): ServerLogins {
  const path = join(home, "mcp-logins.json");
  const entryOf = (name: string) => keychainEntry(home, `mcp ${name}`);
  const write = (logins: WrittenLogins) => {
    const file: z.infer<typeof FileSchema> = { version: VERSION, logins };
    writePrivate(path, `${JSON.stringify(file, null, 2)}\n`);
  };
  return {
    path,
    lock: createHomeLock(home, "mcp-logins.lock"),
    stamp: () => fileStamp(path),
    names: () => Object.keys(readLogins(path)),
    async read(name, url) {
      const kept = readLogins(path)[name];
      if (kept?.url !== url) return undefined;
      if (kept.kept === "file") return new Secret(kept.login);
      const text = await keychain?.read(entryOf(name));
      return text === undefined ? undefined : new Secret(text);
    },
    async write(name, url, login) {
      const isInKeychain = await tryKeychain(keychain, entryOf(name), login.reveal(), (message) =>
        onNotice(`${message} The sign-in is stored in ${path} instead.`),
      );
      write({
        ...readLogins(path),
        [name]: isInKeychain ? { kept: "keychain", url } : { kept: "file", url, login: login.reveal() },
      });
    },
    async remove(name) {
      const { [name]: kept, ...others } = readLogins(path);
      if (!kept) return false;
      if (kept.kept === "keychain") await keychain?.remove(entryOf(name));
      write(others);
      return true;
    },
  };
}

const MAX_BYTES = 16 * 1024 * 1024;

function readLogins(path: string): WrittenLogins {
  checkPrivate(path);
  const text = readSmallFile(path, MAX_BYTES, "mcp_logins_unreadable");
  if (text === undefined) return {};
  try {
    return FileSchema.parse(parseVersionedJson(path, text, VERSION)).logins;
  } catch (error) {
    if (error instanceof ExcursorError) throw error;
    // The parser's own message would quote the file.
    throw unreadable(path);
  }
}

const unreadable = (path: string): ExcursorError =>
  new ExcursorError("mcp_logins_unreadable", `The stored sign-ins to MCP servers in ${path} cannot be read.`);
