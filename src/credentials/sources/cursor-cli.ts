import { cliAuthFiles, type Machine } from "../cursor-paths.ts";
import { noToken, readForeign, tokenFrom } from "../foreign-file.ts";
import { secretOf } from "../login.ts";
import type { CredentialSource, FoundLogin } from "../source.ts";

/** The file in which Cursor's CLI keeps its login. */
export function createCursorCliSource(machine: Machine): CredentialSource {
  const paths = cliAuthFiles(machine);
  return {
    id: "cursor-cli",
    place: paths.join(", "),
    async find() {
      for (const path of paths) {
        const text = readForeign(path);
        if (text !== undefined) return parse(text, path);
      }
      return undefined;
    },
  };
}

function parse(text: string, path: string): FoundLogin | undefined {
  const { accessToken, refreshToken, apiKey } = membersOf(text, path);
  const access = tokenFrom(accessToken, path);
  if (!access) return undefined;
  return { login: { access, refresh: tokenFrom(refreshToken, path), apiKey: secretOf(apiKey) }, isForeign: true };
}

function membersOf(text: string, path: string): Readonly<Record<"accessToken" | "refreshToken" | "apiKey", unknown>> {
  try {
    const members: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (typeof members === "object" && members !== null) return members as ReturnType<typeof membersOf>;
  } catch {
    // The error is thrown below, because the parser's message would quote the file.
  }
  throw noToken(path);
}
