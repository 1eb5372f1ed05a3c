import { createHash } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

/** An account by its token: the same for every token of it, where the token says whose it is. Safe to store. */
export function accountId(token: Secret): string {
  const text = token.reveal();
  return createHash("sha256")
    .update(subjectOf(text) ?? text)
    .digest("base64url");
}

function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const subject = typeof claims === "object" && claims !== null && "sub" in claims ? claims.sub : undefined;
    return typeof subject === "string" ? subject : undefined;
  } catch {
    return undefined;
  }
}
