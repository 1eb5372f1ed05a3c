const MIB = 1024 * 1024;

export const HUB_LIMITS = {
  /** One message of a server, such as the result of a tool. */
  messageBytes: 8 * MIB,
  /** How much of its stderr is kept. */
  stderrBytes: 64 * 1024,
  /** To start it and complete the handshake. */
  connectMs: 30_000,
  /** Time of a call without progress, and in total. */
  callMs: 60_000,
  callTotalMs: 3_600_000,
  /** Time for a user to answer a question. */
  elicitationMs: 300_000,
  /** The first and the longest pause before a lost server is restarted. */
  backOffMs: 1000,
  maxBackOffMs: 60_000,
  /** How many keys beside the owner's have running servers, and how long unused servers keep running. */
  principals: 16,
  idleMs: 600_000,
  tools: 1000,
  toolNameChars: 256,
  imageBytes: 5 * MIB,
  /** To read one resource that a result links to. */
  linkMs: 10_000,
} as const;

export type HubLimits = { readonly [Name in keyof typeof HUB_LIMITS]: number };
