import { createHash } from "node:crypto";
import { type Account, subjectFor } from "../accounts.ts";

export interface Identity {
  readonly authId: string;
  readonly userId: number;
  readonly email: string;
}

/** Returns the identity of an account. A key and the tokens that it is exchanged for have the same one. */
export function identityOf({ id, token }: Account): Identity {
  const authId = id === token ? subjectFor(token) : id;
  const name = authId
    .slice(authId.indexOf("|") + 1)
    .replace(/[^\w.-]/g, "-")
    .slice(0, 64);
  return {
    authId,
    // Positive, and within an int32.
    userId: (createHash("sha256").update(authId).digest().readUInt32BE(0) >>> 1) + 1,
    email: `${name}@simulated.invalid`,
  };
}
