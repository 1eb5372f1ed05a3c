const PREFIX = "token_";

/** Returns the id of a principal that came with its own token. `digest` is that of the token. */
export const guestId = (digest: string): string => `${PREFIX}${digest}`;

/** True if the principal came with its own Cursor token and not with a key of the gateway. */
export const isGuest = (principalId: string): boolean => principalId.startsWith(PREFIX);
