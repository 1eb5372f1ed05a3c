const MIB = 1024 * 1024;

/** What an MCP server may cost. */
export const HUB_LIMITS = {
  /** One message of a server, such as the result of a tool. */
  messageBytes: 8 * MIB,
  /** What is kept of what it says on stderr. */
  stderrBytes: 64 * 1024,
  /** To start it and agree on a protocol. */
  connectMs: 30_000,
  /** A call without a sign of progress, and with. */
  callMs: 60_000,
  callTotalMs: 3_600_000,
  /** For a person to answer a question of a server's. */
  elicitationMs: 300_000,
  /** After a server was lost: the first pause, and the longest. */
  backOffMs: 1000,
  maxBackOffMs: 60_000,
  /** Keys beside the owner's that have servers running for them, and how long those run without use. */
  principals: 16,
  idleMs: 600_000,
  tools: 1000,
  toolNameChars: 256,
  imageBytes: 5 * MIB,
  /** To read one resource that a result links to. */
  linkMs: 10_000,
} as const;

export type HubLimits = { readonly [Name in keyof typeof HUB_LIMITS]: number };
