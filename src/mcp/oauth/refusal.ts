import { extractWWWAuthenticateParams } from "@modelcontextprotocol/client";

/** Why a server refused a request, if a sign-in can help. */
export interface AccessRefusal {
  /** `login`: not signed in, or not any more. `scope`: the sign-in does not permit this. */
  readonly type: "login" | "scope";
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
}

export function readRefusal(response: Response): AccessRefusal | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined;
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  if (response.status === 403 && error !== "insufficient_scope") return undefined;
  return { type: response.status === 401 ? "login" : "scope", scope, resourceMetadataUrl };
}
