import type { RequestError } from "@agentclientprotocol/sdk";
import { ExcursorError } from "../../../core/errors.ts";
import { LineTooLong } from "../../../process/line-splitter.ts";
import type { AgentSettings } from "../agent-settings.ts";

const AUTH_REQUIRED = -32_000;
const INVALID_REQUEST = -32_600;

const SHOWN_CHARS = 500;

export function agentError(name: string, thrown: unknown): ExcursorError {
  if (thrown instanceof ExcursorError) return thrown;
  if (thrown instanceof LineTooLong) {
    return new ExcursorError("agent_message_too_large", [name], { cause: thrown });
  }
  if (!isRequestError(thrown) || isUnreadable(thrown)) {
    return new ExcursorError("agent_protocol", [name], { cause: thrown });
  }
  if (thrown.code === AUTH_REQUIRED) {
    return new ExcursorError("agent_not_signed_in", [name], { retryable: false, cause: thrown });
  }
  return new ExcursorError("agent_failed", [name, wordsOf(thrown)], { retryable: false, cause: thrown });
}

/** Checks the shape, since the SDK is only loaded with the first agent. */
const isRequestError = (thrown: unknown): thrown is RequestError =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "number";

/** True for the SDK's error about a response with neither result nor error. Its data is that response. */
const isUnreadable = ({ code, data }: RequestError): boolean =>
  code === INVALID_REQUEST && (data as { jsonrpc?: unknown } | undefined)?.jsonrpc === "2.0";

/** Many agents say "Internal error" and put the reason into the data. */
function wordsOf({ message, data }: RequestError): string {
  const details = (data as { details?: unknown } | undefined)?.details;
  const text = typeof details === "string" ? `${message}: ${details}` : message;
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

export function cannotStart({ name, command, installHint }: AgentSettings, cause: unknown): ExcursorError {
  const { code } = cause as NodeJS.ErrnoException;
  const why =
    code === "ENOENT"
      ? `the program "${command}" was not found`
      : `"${command}" cannot be started (${code ?? "unknown"})`;
  return new ExcursorError(
    "agent_no_command",
    `The agent "${name}": command: ${why}, or its working directory does not exist.`,
    {
      hint: installHint ?? "Give the full path in the setting `agents`, or make sure that the program is in PATH.",
      cause,
    },
  );
}

export const agentExited = (name: string, code: number | null, signal: string | null): ExcursorError =>
  new ExcursorError(
    "agent_exited",
    `The agent "${name}" ${signal ? `was killed by ${signal}` : `exited with code ${code}`}.`,
  );

export const agentSilent = (name: string, what: string, ms: number): ExcursorError =>
  new ExcursorError("agent_silent", `The agent "${name}" ${what} within ${Math.round(ms / 1000)} s.`, {
    retryable: false,
  });
