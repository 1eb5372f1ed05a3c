/** What a token says of itself. Nobody has checked its signature. */
export interface TokenClaims {
  /** Who it is for. */
  readonly subject: string | undefined;
  readonly expiresAtMs: number | undefined;
}

const NOTHING: TokenClaims = { subject: undefined, expiresAtMs: undefined };

/** The claims of a JWT; of anything else, none. */
export function readClaims(token: string): TokenClaims {
  const parts = token.split(".");
  if (parts.length !== 3) return NOTHING;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return NOTHING;
    const { sub, exp } = claims as { readonly sub?: unknown; readonly exp?: unknown };
    return {
      subject: typeof sub === "string" ? sub : undefined,
      expiresAtMs: typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined,
    };
  } catch {
    return NOTHING;
  }
}
