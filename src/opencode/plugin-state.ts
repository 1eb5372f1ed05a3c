import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dataFolder } from "./opencode-auth.ts";

/** What the plugin remembers between starts of OpenCode. Contains no secrets. */
interface PluginState {
  /** Names of accounts that were signed in through OpenCode. */
  readonly signedIn: readonly string[];
  /** The last list of models, by account and backend. */
  readonly models: Readonly<Record<string, Record<string, object>>>;
  /** When an unfinished sign-in was started, by account and backend, in milliseconds since the epoch. */
  readonly unfinished: Readonly<Record<string, number>>;
}

const NOTHING: PluginState = { signedIn: [], models: {}, unfinished: {} };
const MAX_LISTS = 8;

/** How long the next starts do not wait for an unfinished sign-in. */
const UNFINISHED_MS = 10 * 60_000;

/** Beside OpenCode's `auth.json`, because both must agree. */
const path = (): string => join(dataFolder(), "excursor.json");

export const wasSignedIn = (account: string): boolean => read().signedIn.includes(account);

export function rememberSignIn(account: string, isSignedIn: boolean): void {
  const state = read();
  const others = state.signedIn.filter((name) => name !== account);
  write({ ...state, signedIn: isSignedIn ? [...others, account] : others });
}

export const rememberedModels = (key: string): Record<string, object> | undefined => read().models[key];

export function rememberModels(key: string, models: Record<string, object>): void {
  const state = read();
  write({ ...state, models: withLast(state.models, key, models) });
}

export function isUnfinished(key: string): boolean {
  const ageMs = Date.now() - (read().unfinished[key] ?? Number.NEGATIVE_INFINITY);
  // A clock that was set back must not prolong it.
  return ageMs >= 0 && ageMs < UNFINISHED_MS;
}

export function rememberUnfinished(key: string, isUnfinishedNow: boolean): void {
  const state = read();
  const { [key]: _, ...others } = state.unfinished;
  write({ ...state, unfinished: isUnfinishedNow ? withLast(others, key, Date.now()) : others });
}

function withLast<Value>(entries: Readonly<Record<string, Value>>, key: string, value: Value): Record<string, Value> {
  const others = Object.entries(entries).filter(([name]) => name !== key);
  return Object.fromEntries([...others, [key, value] as const].slice(-MAX_LISTS));
}

function read(): PluginState {
  try {
    return { ...NOTHING, ...(JSON.parse(readFileSync(path(), "utf8")) as Partial<PluginState>) };
  } catch {
    // Missing or damaged; everything in it can be fetched again.
    return NOTHING;
  }
}

function write(state: PluginState): void {
  const temporary = `${path()}.${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(dirname(temporary), { recursive: true });
    writeFileSync(temporary, JSON.stringify(state), { mode: 0o600 });
    renameSync(temporary, path());
  } catch {
    // On a full or read-only disk the next start is only slower.
    rmSync(temporary, { force: true });
  }
}
