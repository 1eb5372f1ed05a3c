import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { OpenCodeClient, StoredAuth } from "./plugin-api.ts";

/** What OpenCode stores instead of the login, which `excursor login` keeps. */
export const KEPT_ELSEWHERE = "kept-by-excursor";

/** Returns the folder of OpenCode's `auth.json`, on every system. */
export const dataFolder = (): string =>
  join(process.env["XDG_DATA_HOME"] || join(homedir(), ".local", "share"), "opencode");

/**
 * Returns what OpenCode has stored for a provider. Plugins otherwise learn it only after `config`, and never in
 * `opencode auth login`. `unknown`: it cannot be read, or does not come from the file.
 */
export function storedAuth(provider: string): StoredAuth | "none" | "unknown" {
  if (process.env["OPENCODE_AUTH_CONTENT"]) return "unknown";
  try {
    const entries = JSON.parse(readFileSync(join(dataFolder(), "auth.json"), "utf8")) as Record<string, StoredAuth>;
    return entries[provider] ?? "none";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "none" : "unknown";
  }
}

/** Replaces what OpenCode has stored by a placeholder. Returns false if that failed. */
export async function forgetSecret(client: OpenCodeClient, provider: string): Promise<boolean> {
  try {
    const body = { type: "api", key: KEPT_ELSEWHERE } as const;
    const { error } = await client.auth.set({ path: { id: provider }, body });
    return error === undefined;
  } catch {
    return false;
  }
}
