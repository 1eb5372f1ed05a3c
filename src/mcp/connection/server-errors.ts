import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import { isBadPort } from "../../core/http/bad-port.ts";
import { clip } from "../clip.ts";
import { needsLogin, needsScope } from "../oauth/errors.ts";

export const messageTooLarge = (server: string, maxBytes: number): ExcursorError =>
  new ExcursorError("mcp_message_too_large", [server, maxBytes / (1024 * 1024)]);

/** Converts any error of a server or of the SDK. The message always names the server. */
export function serverError(
  server: string,
  thrown: unknown,
  doing: string,
  { isSignedInTo = false }: { readonly isSignedInTo?: boolean } = {},
): ExcursorError {
  const own = ownError(thrown);
  if (own) return own;
  if (isSignedInTo && InsufficientScopeError.isInstance(thrown)) return needsScope(server, thrown.requiredScope);
  if (isSignedInTo && statusOf(thrown) === 401) return needsLogin(server, thrown);
  const subject = `The MCP server "${server}"`;
  const details = { cause: thrown };
  if (ProtocolError.isInstance(thrown)) {
    const text = `${subject} refused ${doing}: ${clip(thrown.message)}`;
    return new ExcursorError("mcp_refused", text, { ...details, retryable: false, hint: null });
  }
  const status = statusOf(thrown);
  if (status !== undefined) return httpError(subject, thrown as Error, status, doing);
  if (isBadPort(thrown)) {
    return new ExcursorError("bad_port", `${subject} uses a port that fetch blocks, as browsers do.`, {
      ...details,
      hint: "Let the server listen on another port and set that port in mcp.json.",
    });
  }
  const network = networkCode(thrown);
  if (network === "ECONNREFUSED") {
    return new ExcursorError("mcp_refused_connection", [subject], details);
  }
  if (network !== undefined) {
    return new ExcursorError("mcp_unreachable", [subject, doing, network], details);
  }
  if (SdkError.isInstance(thrown)) {
    switch (thrown.code) {
      case SdkErrorCode.RequestTimeout:
        return new ExcursorError("mcp_timeout", [subject, doing], details);
      case SdkErrorCode.ConnectionClosed:
      case SdkErrorCode.NotConnected:
      case SdkErrorCode.SendFailed:
        return new ExcursorError("mcp_connection_lost", [subject, doing], details);
      default:
        return new ExcursorError("mcp_protocol_error", [subject, doing, clip(thrown.message)], details);
    }
  }
  if (thrown instanceof Error && thrown.name === "AbortError") return ExcursorError.from(thrown);
  return new ExcursorError("mcp_failed", [subject, doing], { ...details, hint: null });
}

/** Finds an error of our own fetch, which the SDK wraps. */
function ownError(thrown: unknown): ExcursorError | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof ExcursorError) return error;
  }
  return undefined;
}

function statusOf(thrown: unknown): number | undefined {
  if (SdkHttpError.isInstance(thrown)) return thrown.status;
  return thrown instanceof SseError ? thrown.code : undefined;
}

/** Finds the network error code among the causes; fetch itself reports only that it failed. */
function networkCode(thrown: unknown): string | undefined {
  for (let error = thrown as NodeJS.ErrnoException | undefined; error; error = error.cause as typeof error) {
    // A name with several addresses fails with an error for each.
    const one = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException | undefined) : error;
    if (typeof one?.code === "string" && (one.syscall !== undefined || one.code.startsWith("UND_ERR"))) {
      return one.code;
    }
  }
  return undefined;
}

function httpError(subject: string, cause: Error, status: number, doing: string): ExcursorError {
  const details = { cause, context: { status } };
  if (status === 401 || status === 403) {
    return new ExcursorError("mcp_unauthorized", [subject, status], {
      kind: status === 401 ? "unauthenticated" : "forbidden",
      ...details,
    });
  }
  // Redirects are not followed, because the request may hold secrets. Only the user can confirm the new address.
  const moved = /Redirect to (\S+) not followed/.exec(clip(cause.message))?.[1];
  return new ExcursorError("mcp_http_error", [subject, doing, status], {
    ...details,
    hint: moved === undefined ? null : `If it has moved to ${moved}, set that URL in mcp.json.`,
  });
}
