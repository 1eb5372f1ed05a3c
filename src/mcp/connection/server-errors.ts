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
  new ExcursorError(
    "too-large",
    `The MCP server "${server}" sent a message of more than ${maxBytes / (1024 * 1024)} MiB; the connection was closed.`,
    { code: "mcp_message_too_large", hint: "Request less data from the tool at once." },
  );

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
    return new ExcursorError("upstream-failed", text, {
      ...details,
      code: "mcp_refused",
      retryable: false,
      hint: null,
    });
  }
  const status = statusOf(thrown);
  if (status !== undefined) return httpError(subject, thrown as Error, status, doing);
  if (isBadPort(thrown)) {
    return new ExcursorError("config", `${subject} uses a port that fetch blocks, as browsers do.`, {
      ...details,
      code: "bad_port",
      hint: "Let the server listen on another port and set that port in mcp.json.",
    });
  }
  const network = networkCode(thrown);
  if (network === "ECONNREFUSED") {
    return new ExcursorError(
      "upstream-unavailable",
      `${subject} refused the connection: nothing listens at its address.`,
      {
        ...details,
        code: "mcp_refused_connection",
        hint: "Check that the server is running. If it has moved, set its new URL in mcp.json.",
      },
    );
  }
  if (network !== undefined) {
    return new ExcursorError("upstream-unavailable", `${subject} could not be reached for ${doing} (${network}).`, {
      ...details,
      code: "mcp_unreachable",
    });
  }
  if (SdkError.isInstance(thrown)) {
    switch (thrown.code) {
      case SdkErrorCode.RequestTimeout:
        return new ExcursorError("timeout", `${subject} did not answer ${doing} in time.`, {
          ...details,
          code: "mcp_timeout",
        });
      case SdkErrorCode.ConnectionClosed:
      case SdkErrorCode.NotConnected:
      case SdkErrorCode.SendFailed:
        return new ExcursorError("upstream-unavailable", `${subject} closed the connection during ${doing}.`, {
          ...details,
          code: "mcp_connection_lost",
        });
      default:
        return new ExcursorError(
          "upstream-protocol",
          `${subject} broke the protocol at ${doing}: ${clip(thrown.message)}`,
          {
            ...details,
            code: "mcp_protocol_error",
          },
        );
    }
  }
  if (thrown instanceof Error && thrown.name === "AbortError") return ExcursorError.from(thrown);
  return new ExcursorError("upstream-failed", `${subject} failed at ${doing}.`, {
    ...details,
    code: "mcp_failed",
    hint: null,
  });
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
    return new ExcursorError(status === 401 ? "unauthenticated" : "forbidden", `${subject} answered with ${status}.`, {
      ...details,
      code: "mcp_unauthorized",
      hint: "Set the header that it expects, such as authorization, under headers in mcp.json.",
    });
  }
  // Redirects are not followed, because the request may hold secrets. Only the user can confirm the new address.
  const moved = /Redirect to (\S+) not followed/.exec(clip(cause.message))?.[1];
  return new ExcursorError("upstream-failed", `${subject} answered ${doing} with ${status}.`, {
    ...details,
    code: "mcp_http_error",
    hint: moved === undefined ? null : `If it has moved to ${moved}, set that URL in mcp.json.`,
  });
}
