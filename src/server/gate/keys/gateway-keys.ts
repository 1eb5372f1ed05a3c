import { hash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { checkPrivate } from "../../../config/home.ts";
import { createHomeLock } from "../../../config/home-lock.ts";
import { newKey } from "../../../config/key-file.ts";
import { LimitTextSchema } from "../../../config/limit-text.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { Secret } from "../../../core/secret.ts";
import { readSmallFile } from "../../../files/read-small-file.ts";
import { parseVersionedJson } from "../../../files/versioned-json.ts";
import { writePrivate } from "../../../files/write-private.ts";
import { OWNER } from "./caller-keys.ts";

const KeyLimitsSchema = z.strictObject({
  streams: z.int().positive().optional(),
  /** Such as `500000 tokens/day` or `$5/month`. */
  usage: z.array(LimitTextSchema).default([]),
  /** Whether a parked run is kept when the key reaches a limit. */
  onLimit: z.enum(["end", "pause"]).optional(),
});

const GatewayKeySchema = z.object({
  name: z.string(),
  /** The principal id. Never reused, not even for a later key of the same name. */
  id: z.string(),
  /** SHA-256 of the key, in hex. The key itself is not stored. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** The account that the key uses. Unset: the gateway's own. */
  account: z.string().optional(),
  limits: KeyLimitsSchema,
  createdAt: z.string(),
});

const RevokedKeySchema = z.object({ id: z.string(), revokedAt: z.string() });

const VERSION = 1;
const FileSchema = z.object({
  version: z.literal(VERSION),
  keys: z.array(GatewayKeySchema),
  /** So that another node of a cluster, which still has such a key, does not bring it back. */
  revoked: z.array(RevokedKeySchema).default([]),
});

export type KeyLimits = z.infer<typeof KeyLimitsSchema>;
export type GatewayKey = z.infer<typeof GatewayKeySchema>;

/** All that is known of issued keys. */
export interface IssuedKeyState {
  readonly keys: readonly GatewayKey[];
  readonly revoked: readonly z.infer<typeof RevokedKeySchema>[];
}

export const keysPath = (home: string): string => join(home, "keys.json");

const digestOfKey = (key: string): string => hash("sha256", key, "hex");

const MAX_BYTES = 16 * 1024 * 1024;

export const readKeys = (path: string): readonly GatewayKey[] => readKeyState(path).keys;

/** Reads one key in the form in which the file has it. Throws if it is damaged. */
export const parseKey = (json: string): GatewayKey => GatewayKeySchema.parse(JSON.parse(json));

/** Throws if the file is damaged or readable by other users. */
export function readKeyState(path: string): IssuedKeyState {
  checkPrivate(path);
  const text = readSmallFile(path, MAX_BYTES, "keys_unreadable");
  if (text === undefined) return { keys: [], revoked: [] };
  try {
    return FileSchema.parse(parseVersionedJson(path, text, VERSION));
  } catch (error) {
    if (error instanceof ExcursorError) throw error;
    const [issue] = error instanceof z.ZodError ? error.issues : [];
    if (issue?.code === "custom") throw new ExcursorError("bad_key_limit", [path, issue.path.join("."), issue.message]);
    throw new ExcursorError("keys_damaged", [path]);
  }
}

export interface NewKeyOptions {
  readonly account: string | undefined;
  readonly limits: z.input<typeof KeyLimitsSchema>;
}

/** Creates a key and returns it. It cannot be shown again. */
export function addKey(home: string, name: string, { account, limits }: NewKeyOptions): Promise<Secret> {
  return changeKeys(home, ({ keys, revoked }) => {
    // Keys are chosen by their names, and this one is the gateway's own.
    if (name === OWNER.id) {
      throw new ExcursorError("key_exists", `The gateway's own key has the name ${name}.`, {
        hint: "Choose another name.",
      });
    }
    if (keys.some((key) => key.name === name)) {
      throw new ExcursorError("key_exists", [name], {
        hint: `Choose another name, or revoke it first: excursor keys revoke ${name}`,
      });
    }
    const key = new Secret(newKey());
    const id = `key_${name}_${randomBytes(4).toString("hex")}`;
    const digest = digestOfKey(key.reveal());
    const record = {
      name,
      id,
      digest,
      ...(account !== undefined && { account }),
      limits: KeyLimitsSchema.parse(limits),
      createdAt: new Date().toISOString(),
    };
    return { keys: [...keys, record], revoked, result: key };
  });
}

export function revokeKey(home: string, name: string): Promise<void> {
  return changeKeys(home, ({ keys, revoked }) => {
    const gone = keys.filter((key) => key.name === name);
    const revokedAt = new Date().toISOString();
    if (gone.length > 0) {
      return {
        keys: keys.filter((key) => key.name !== name),
        revoked: [...revoked, ...gone.map(({ id }) => ({ id, revokedAt }))],
        result: undefined,
      };
    }
    const others = keys.length === 0 ? "there are no keys" : `known keys: ${keys.map((key) => key.name).join(", ")}`;
    throw new ExcursorError("unknown_key", `There is no key named ${name}; ${others}.`, { hint: null });
  });
}

/** Adds what other nodes know: their keys, and the keys that were revoked there. */
export function mergeKeys(home: string, other: IssuedKeyState): Promise<void> {
  return changeKeys(home, ({ keys, revoked }) => {
    const gone = new Map([...revoked, ...other.revoked].map((one) => [one.id, one]));
    const all = new Map([...keys, ...other.keys].map((key) => [key.id, key]));
    return {
      keys: [...all.values()].filter(({ id }) => !gone.has(id)),
      revoked: [...gone.values()],
      result: undefined,
    };
  });
}

/** Revoked keys that are remembered, at most: the last ones. */
const MAX_REVOKED = 10_000;

async function changeKeys<T>(
  home: string,
  change: (state: IssuedKeyState) => IssuedKeyState & { readonly result: T },
): Promise<T> {
  const path = keysPath(home);
  return createHomeLock(home, "keys.lock").run(() => {
    const { keys, revoked, result } = change(readKeyState(path));
    const file: z.input<typeof FileSchema> = {
      version: VERSION,
      keys: [...keys],
      revoked: revoked.slice(-MAX_REVOKED),
    };
    writePrivate(path, `${JSON.stringify(file, null, 2)}\n`);
    return result;
  });
}
