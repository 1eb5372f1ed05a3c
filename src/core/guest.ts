const PREFIX = "token_";

/** The id of a principal that brought a token; `digest` is of the whole token. */
export const guestId = (digest: string): string => `${PREFIX}${digest}`;

/** Whether a principal came with a token of its own, which nobody here has given out. */
export const isGuest = (principalId: string): boolean => principalId.startsWith(PREFIX);
