import { ExcursorError } from "../core/errors.ts";
import { canRenew, isAlive, isFresh } from "./login.ts";
import type { CredentialSource, FoundLogin } from "./source.ts";

type SourceReport =
  | { readonly source: CredentialSource; readonly type: "found"; readonly found: FoundLogin }
  | { readonly source: CredentialSource; readonly type: "none" }
  | { readonly source: CredentialSource; readonly type: "problem"; readonly error: ExcursorError };

/** Asks one source, and checks that its login is usable. */
export async function askSource(source: CredentialSource, nowMs: number): Promise<SourceReport> {
  try {
    const found = await source.find();
    if (!found) return { source, type: "none" };
    const { login, isForeign } = found;
    const isUsable = isForeign ? isAlive(login.access, nowMs) : isFresh(login.access, nowMs) || canRenew(login);
    // A token from the environment is sent even if it looks expired: the backend decides, because our clock may be
    // wrong.
    if (isUsable || source.id === "environment") return { source, type: "found", found };
    return { source, type: "problem", error: expired(source.place) };
  } catch (error) {
    return { source, type: "problem", error: ExcursorError.from(error) };
  }
}

/**
 * Returns the first usable login. Reports problems of the sources before it. Throws the first problem if no source has
 * a login.
 */
export async function findLogin(
  sources: readonly CredentialSource[],
  nowMs: number,
  onProblem: (error: ExcursorError) => void,
): Promise<FoundLogin> {
  let first: ExcursorError | undefined;
  for (const source of sources) {
    const report = await askSource(source, nowMs);
    if (report.type === "found") return report.found;
    if (report.type === "none") continue;
    first ??= report.error;
    onProblem(report.error);
  }
  throw first ?? notSignedIn();
}

const expired = (place: string): ExcursorError => new ExcursorError("login_expired", [place]);

export const notSignedIn = (): ExcursorError => new ExcursorError("not_signed_in");
