import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ExcursorError } from "../../core/errors.ts";
import { tokenFrom } from "../foreign-file.ts";
import type { CredentialSource } from "../source.ts";

export interface MacosKeychainOptions {
  readonly platform: NodeJS.Platform;
  /** The system's own tool; the keychain names it when it asks the user for permission. */
  readonly command?: string;
}

const ACCOUNT = "cursor-user";
const NOT_FOUND = 44;
/** Long, because the keychain may ask the user. */
const PATIENCE_MS = 60_000;

/** The keychain in which Cursor's CLI keeps its login on macOS. */
export function createMacosKeychainSource(options: MacosKeychainOptions): CredentialSource {
  const { platform, command = "/usr/bin/security" } = options;
  return {
    id: "macos-keychain",
    place: "the macOS keychain (cursor-access-token, cursor-refresh-token)",
    async find() {
      if (platform !== "darwin") return undefined;
      const read = async (service: string) => {
        const text = await readItem(command, service);
        return tokenFrom(text, `the keychain item ${service}`);
      };
      const access = await read("cursor-access-token");
      if (!access) return undefined;
      return { login: { access, refresh: await read("cursor-refresh-token"), apiKey: undefined }, isForeign: true };
    },
  };
}

async function readItem(command: string, service: string): Promise<string | undefined> {
  try {
    const args = ["find-generic-password", "-s", service, "-a", ACCOUNT, "-w"];
    return (await promisify(execFile)(command, args, { timeout: PATIENCE_MS })).stdout.trim();
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === NOT_FOUND) return undefined;
    // The tool's own message may contain the secret.
    throw new ExcursorError(
      "keychain_unusable",
      `The keychain did not return ${service} (${String(code ?? "no answer")}).`,
      { hint: "Unlock the keychain and allow the access, or sign in here: excursor login" },
    );
  }
}
