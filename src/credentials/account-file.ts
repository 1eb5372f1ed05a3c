import { z } from "zod";
import { checkPrivate } from "../config/home.ts";
import { ExcursorError } from "../core/errors.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { parseVersionedJson } from "../files/versioned-json.ts";
import { previousOf, writePrivate } from "../files/write-private.ts";

/** An account in the file. If it is kept in the keychain, the file has no secret. */
const AccountSchema = z.discriminatedUnion("kept", [
  z.object({
    kept: z.literal("file"),
    origin: z.string(),
    savedAt: z.string(),
    access: z.string().optional(),
    /** `refresh|apiKey`. */
    refresh: z.string(),
  }),
  z.object({ kept: z.literal("keychain"), origin: z.string(), savedAt: z.string() }),
]);

const VERSION = 1;
const FileSchema = z.object({ version: z.literal(VERSION), accounts: z.record(z.string(), AccountSchema) });

export type WrittenAccount = z.infer<typeof AccountSchema>;
type WrittenAccounts = ReadonlyMap<string, WrittenAccount>;

/** Enough for a thousand accounts. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads the accounts; none if there is no file. If the file is damaged, reads the previous version and calls
 * `onDamage`. Throws if others may read the file, if it is of another version of Excursor, or if it and its copy are damaged.
 */
export function readAccounts(path: string, onDamage: (text: string) => void): WrittenAccounts {
  checkPrivate(path);
  const text = readText(path);
  if (text === undefined) return new Map();
  const accounts = parse(path, text);
  if (accounts) return accounts;
  const previous = parse(path, readText(previousOf(path)) ?? "");
  if (!previous) throw damaged(path);
  onDamage(`${path} is damaged. The accounts from before the last change are used.`);
  return previous;
}

/**
 * Writes the accounts. The caller holds the lock. `keepsPrevious` is false if the previous version has a secret that
 * must be removed.
 */
export function writeAccounts(path: string, accounts: WrittenAccounts, keepsPrevious: boolean): void {
  const file: z.infer<typeof FileSchema> = { version: VERSION, accounts: Object.fromEntries(accounts) };
  writePrivate(path, `${JSON.stringify(file, null, 2)}\n`, { previous: keepsPrevious ? "keep" : "remove" });
}

const readText = (path: string): string | undefined => readSmallFile(path, MAX_BYTES, "accounts_unreadable");

function parse(path: string, text: string): WrittenAccounts | undefined {
  try {
    const { success, data } = FileSchema.safeParse(parseVersionedJson(path, text, VERSION));
    return success ? new Map(Object.entries(data.accounts)) : undefined;
  } catch (error) {
    if (error instanceof ExcursorError) throw error;
    return undefined;
  }
}

const damaged = (path: string): ExcursorError => new ExcursorError("accounts_damaged", [path]);
