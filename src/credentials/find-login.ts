import { ExcursorError } from "../core/errors.ts";
import { canRenew, isAlive, isFresh } from "./login.ts";
import type { CredentialSource, FoundLogin } from "./source.ts";

/** What one source had to say. */
type SourceReport =
  | { readonly source: CredentialSource; readonly type: "found"; readonly found: FoundLogin }
  | { readonly source: CredentialSource; readonly type: "none" }
  | { readonly source: CredentialSource; readonly type: "problem"; readonly error: ExcursorError };

/** Asks one source, and whether what it has is of any use. */
export async function askSource(source: CredentialSource, nowMs: number): Promise<SourceReport> {
  try {
    const found = await source.find();
    if (!found) return { source, type: "none" };
    const { login, isForeign } = found;
    const isUsable = isForeign ? isAlive(login.access, nowMs) : isFresh(login.access, nowMs) || canRenew(login);
    // A token that is given for itself is sent as it is: whether it is over, the backend knows better than our clock.
    if (isUsable || source.id === "environment") return { source, type: "found", found };
    return { source, type: "problem", error: expired(source.place) };
  } catch (error) {
    return { source, type: "problem", error: ExcursorError.from(error) };
  }
}

/** The first source that has a usable login; what is wrong with those before it is told and passed over. */
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

const expired = (place: string): ExcursorError =>
  new ExcursorError("unauthenticated", `The login in ${place} has expired.`, {
    code: "login_expired",
    hint: "Use the program that it belongs to once, or sign in here: excursor login",
  });

export const notSignedIn = (): ExcursorError =>
  new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
    code: "not_signed_in",
    hint: "Run `excursor login`; it needs no restart. Or send a Cursor token as the API key.",
  });
