import { OAuthClientFlowError, OAuthError, RegistrationRejectedError } from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import { clip } from "../clip.ts";

/** The code of the error that only a user's sign-in can resolve. */
export const NEEDS_LOGIN = "mcp_needs_login";

const loginCommand = (server: string): string =>
  `excursor mcp login ${/^[\w.@-]+$/.test(server) ? server : `'${server.replaceAll("'", "'\\''")}'`}`;

/** The error for the log, for lists and for callers. */
export const needsLogin = (server: string, cause?: unknown): ExcursorError =>
  new ExcursorError(NEEDS_LOGIN, [server, loginCommand(server)], { cause });

export const needsScope = (server: string, scope: string | undefined): ExcursorError =>
  new ExcursorError(
    "mcp_needs_scope",
    `The MCP server "${server}" requires a scope that was not granted${scope ? ` (${clip(scope)})` : ""}: ${loginCommand(server)}`,
  );

/**
 * Converts any error of a sign-in or a renewal. Messages of an authorization server are clipped; they contain no
 * tokens.
 */
export function loginFailed(server: string, thrown: unknown): ExcursorError {
  if (thrown instanceof ExcursorError) return thrown;
  const subject = `Signing in to the MCP server "${server}" failed`;
  const details = { cause: thrown };
  if (RegistrationRejectedError.isInstance(thrown)) {
    return new ExcursorError("mcp_login_failed", `${subject}: it does not register new clients (${thrown.status}).`, {
      ...details,
      hint: "Register a client there and set its clientId under oauth in mcp.json, or set a token under headers.",
    });
  }
  if (OAuthError.isInstance(thrown)) {
    return new ExcursorError("mcp_login_failed", `${subject}: ${clip(`${thrown.code}: ${thrown.message}`)}`, details);
  }
  if (OAuthClientFlowError.isInstance(thrown)) {
    return new ExcursorError("mcp_login_failed", `${subject}: ${clip(thrown.message)}`, details);
  }
  const code = (thrown as NodeJS.ErrnoException | undefined)?.code;
  if (typeof code === "string") {
    return new ExcursorError(
      "mcp_login_unreachable",
      `${subject}: its authorization server cannot be reached (${code}).`,
      { ...details },
    );
  }
  const text = thrown instanceof Error ? clip(thrown.message) : "the server gave no reason.";
  return new ExcursorError("mcp_login_failed", `${subject}: ${text}`, { ...details, kind: "upstream-failed" });
}
