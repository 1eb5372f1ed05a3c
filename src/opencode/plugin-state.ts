import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dataFolder } from "./opencode-auth.ts";

/** What one start of OpenCode leaves for the next. No secrets. */
interface PluginState {
  /** Accounts that were signed in through OpenCode, by name. */
  readonly signedIn: readonly string[];
  /** The last list of models, by account and backend. */
  readonly models: Readonly<Record<string, Record<string, object>>>;
  /** When a sign-in was begun that has not come to an end, by account and backend; milliseconds since the epoch. */
  readonly unfinished: Readonly<Record<string, number>>;
}

const NOTHING: PluginState = { signedIn: [], models: {}, unfinished: {} };
const MAX_LISTS = 8;

/** For so long a sign-in that has not come to an end is not waited for again. */
const UNFINISHED_MS = 10 * 60_000;

/** Beside OpenCode's `auth.json`, with which it has to agree. */
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
  // A clock that was set back must not make it last.
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
    // There is none yet, or it is damaged: everything in it can be had again.
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
    // A full or read-only disk costs the next start some time, and nothing else.
    rmSync(temporary, { force: true });
  }
}
