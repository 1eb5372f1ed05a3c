import { hash } from "node:crypto";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import type { ModelCredential } from "./models/model.ts";

/** The account that answers for a principal: the one it brought, else the gateway's own. */
export function credentialOf({ token }: Principal, own: Secret | undefined): ModelCredential {
  const found = token ?? own;
  if (found) return { id: digest(found.reveal()), token: found };
  throw new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
    code: "not_signed_in",
    hint: "Start the gateway with --token, set EXCURSOR_TOKEN, or send a Cursor token as the API key; --demo needs none.",
  });
}

/**
 * Whose conversations these are: the account, which stays the same when its token is renewed. It is what the token
 * says of itself, unproven, so it counts only beside the principal, who has proved something.
 */
export const ownerOf = (principal: Principal, { token }: ModelCredential): string =>
  `${principal.id} ${digest(subjectOf(token.reveal()) ?? token.reveal())}`;

const digest = (text: string): string => hash("sha256", text, "base64url");

function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const subject = typeof claims === "object" && claims !== null && "sub" in claims ? claims.sub : undefined;
    return typeof subject === "string" ? subject : undefined;
  } catch {
    return undefined;
  }
}
