/** The claims of a token. Its signature was not verified. */
export interface TokenClaims {
  readonly subject: string | undefined;
  readonly issuedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
}

const NOTHING: TokenClaims = { subject: undefined, issuedAtMs: undefined, expiresAtMs: undefined };

/** Reads the claims of a JWT. For any other text all claims are undefined. */
export function readClaims(token: string): TokenClaims {
  const parts = token.split(".");
  if (parts.length !== 3) return NOTHING;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return NOTHING;
    const { sub, iat, exp } = claims as Readonly<Record<"sub" | "iat" | "exp", unknown>>;
    return {
      subject: typeof sub === "string" ? sub : undefined,
      issuedAtMs: timeOf(iat),
      expiresAtMs: timeOf(exp),
    };
  } catch {
    return NOTHING;
  }
}

const timeOf = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && Number.isFinite(seconds) ? seconds * 1000 : undefined;
