import { createHash } from "node:crypto";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import type { ModelCredential } from "./models/model.ts";

/** The account that answers for a principal: the one it brought, else the gateway's own. */
export function credentialOf({ token }: Principal, own: Secret | undefined): ModelCredential {
  const found = token ?? own;
  if (found) return { id: accountId(found), token: found };
  throw new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
    code: "not_signed_in",
    hint: "Start the gateway with --token, set EXCURSOR_TOKEN, or send a Cursor token as the API key; --demo needs none.",
  });
}

/** An account by its token: the same for every token of it, where the token says whose it is. Safe to store. */
function accountId(token: Secret): string {
  let id = ids.get(token);
  if (id === undefined) {
    const text = token.reveal();
    id = createHash("sha256")
      .update(subjectOf(text) ?? text)
      .digest("base64url");
    ids.set(token, id);
  }
  return id;
}

/** The gateway's own token is the same for every request. */
const ids = new WeakMap<Secret, string>();

function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const subject = typeof claims === "object" && claims !== null && "sub" in claims ? claims.sub : undefined;
    return typeof subject === "string" ? subject : undefined;
  } catch {
    return undefined;
  }
}
