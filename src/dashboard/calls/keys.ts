import { z } from "zod";
import { LimitTextSchema } from "../../config/limit-text.ts";
import { ACCOUNT_NAME } from "../../config/settings.ts";
import { ExcursorError } from "../../core/errors.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import { addKey, type GatewayKey, keysPath, readKeys, revokeKey } from "../../server/gate/keys/gateway-keys.ts";
import { limitUse } from "../../usage/queries/limit-use.ts";
import type { UsageStore } from "../../usage/store/usage-store.ts";
import type { Call } from "../call.ts";
import type { KeyRow, KeysReply, NewKeyReply } from "../messages.ts";
import { readBody } from "../read-body.ts";

export interface KeySources {
  readonly home: string;
  /** The limits of the gateway's own key. */
  readonly ownLimits: readonly string[];
  /** The names of the accounts that a key can be bound to. */
  readonly accounts: () => readonly string[];
  /** Throws if a key cannot be held to these limits. */
  readonly checkLimits: (limits: readonly string[]) => void;
  readonly record: Pick<UsageStore, "spent" | "spentInMinute" | "liftLimits">;
  readonly now?: () => number;
}

/** Some 600 bytes each, so a reply with all of them stays below 200 KB. */
const MAX_KEYS = 250;
const DAY_MS = 86_400_000;

const positive = z.int("expected a whole number").positive("expected a number of at least 1").optional();

/** The calls of the page Keys and limits. A key itself leaves the gateway once, when it is created. */
export function keyCalls(sources: KeySources): readonly Call[] {
  const { home, ownLimits, accounts, checkLimits, record, now = Date.now } = sources;
  const NewKey = z.object({
    name: z.string().regex(ACCOUNT_NAME, "expected 1 to 64 letters, digits and . _ @ -"),
    account: z
      .string()
      .refine((name) => accounts().includes(name), "expected an account that is signed in")
      .optional(),
    onLimit: z.enum(["end", "pause"]).optional(),
    streams: positive,
    limits: z.array(LimitTextSchema).max(16).default([]),
  });

  const rowOf = (id: string, key: Partial<GatewayKey>, limits: readonly string[]): KeyRow => {
    const today = Math.floor(now() / DAY_MS) * DAY_MS;
    const { requests, tokens, dollars } = record.spent(id, today, today + DAY_MS);
    return {
      name: key.name ?? id,
      account: key.account ?? null,
      createdAt: key.createdAt ?? null,
      streams: key.limits?.streams ?? null,
      today: { requests, tokens, costMicros: dollars },
      limits: limits.flatMap((text) => {
        const use = limitUse(text, id, record, now());
        return use ? [{ ...use, used: use.used ?? null, resetsAtMs: use.resetsAtMs ?? null }] : [];
      }),
    };
  };

  return [
    {
      method: "GET",
      path: "/keys",
      handle(): KeysReply {
        const keys = readKeys(keysPath(home));
        return {
          own: rowOf(OWNER.id, {}, ownLimits),
          keys: keys.slice(0, MAX_KEYS).map((key) => rowOf(key.id, key, key.limits.usage)),
          keyCount: keys.length,
          accounts: accounts(),
        };
      },
    },
    {
      method: "POST",
      path: "/keys",
      async handle({ body }): Promise<NewKeyReply> {
        const { name, account, limits: usage, ...rest } = readBody(NewKey, body);
        checkLimits(usage);
        const key = await addKey(home, name, { account, limits: { ...rest, usage } });
        return { name, key: key.reveal() };
      },
    },
    {
      method: "POST",
      path: "/keys/{name}/lift",
      handle({ path: { name = "" } }) {
        const id = name === OWNER.id ? OWNER.id : readKeys(keysPath(home)).find((key) => key.name === name)?.id;
        if (id === undefined) throw unknownKey(name);
        record.liftLimits(id);
        return {};
      },
    },
    {
      method: "DELETE",
      path: "/keys/{name}",
      async handle({ path: { name = "" } }) {
        await revokeKey(home, name);
        return {};
      },
    },
  ];
}

const unknownKey = (name: string): ExcursorError =>
  new ExcursorError("unknown_key", `There is no key named ${name}.`, { hint: "Reload the page." });
