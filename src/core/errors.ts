import { DEFAULT_HINTS } from "./error-hints.ts";

/**
 * The one error type of the project and the one table that carries it to every outlet.
 *
 * Whatever fails, in a parser, on the wire, in a face or in a command, fails as an {@link ExcursorError}. Its
 * `kind` decides what a caller sees (HTTP status, dialect body, exit code) by {@link ERROR_TABLE}; nothing else
 * may. Foreign errors come in once, at the boundary that knows them, through {@link ExcursorError.from}.
 */
export type ErrorKind = keyof typeof ERROR_TABLE;

/** What one kind of error looks like at each outlet. */
export interface ErrorOutlets {
  /** HTTP status, where it is not spent yet. Never 409: the official SDKs retry that. */
  readonly status: number;
  readonly openai: { readonly type: string; readonly code: string };
  /** Anthropic's `error.type`. */
  readonly anthropic: string;
  /** Process exit code, in the tradition of sysexits. */
  readonly exit: number;
  /** Whether trying the same thing again later may help. */
  readonly retryable: boolean;
}

const row = (
  status: number,
  type: string,
  code: string,
  anthropic: string,
  exit: number,
  retryable = false,
): ErrorOutlets => ({ status, openai: { type, code }, anthropic, exit, retryable });

export const ERROR_TABLE = {
  "invalid-request": row(400, "invalid_request_error", "invalid_request", "invalid_request_error", 65),
  "context-overflow": row(400, "invalid_request_error", "context_length_exceeded", "invalid_request_error", 65),
  unauthenticated: row(401, "authentication_error", "invalid_api_key", "authentication_error", 77),
  "payment-required": row(402, "insufficient_quota", "payment_required", "permission_error", 77),
  forbidden: row(403, "permission_error", "permission_denied", "permission_error", 77),
  "not-found": row(404, "invalid_request_error", "not_found", "not_found_error", 65),
  "model-not-found": row(404, "invalid_request_error", "model_not_found", "not_found_error", 65),
  deprecated: row(410, "invalid_request_error", "deprecated", "invalid_request_error", 78),
  "too-large": row(413, "invalid_request_error", "request_too_large", "request_too_large", 65),
  "outdated-client": row(426, "invalid_request_error", "outdated_client", "invalid_request_error", 78),
  "rate-limited": row(429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", 75, true),
  "quota-exhausted": row(429, "insufficient_quota", "insufficient_quota", "rate_limit_error", 75),
  canceled: row(499, "api_error", "canceled", "api_error", 130),
  internal: row(500, "api_error", "internal_error", "api_error", 70),
  unsupported: row(501, "invalid_request_error", "unsupported", "invalid_request_error", 69),
  /** The upstream failed by its own account. */
  "upstream-failed": row(502, "api_error", "upstream_error", "api_error", 69, true),
  /** The upstream sent bytes that we cannot read as its protocol. */
  "upstream-protocol": row(502, "api_error", "upstream_protocol_error", "api_error", 69),
  /** The upstream could not be reached, or went away. */
  "upstream-unavailable": row(503, "api_error", "upstream_unavailable", "overloaded_error", 69, true),
  timeout: row(504, "api_error", "timeout", "timeout_error", 69, true),
  /** A setting, flag or file of the user's that cannot work. */
  config: row(500, "api_error", "configuration_error", "api_error", 78),
  /** Something of ours is held by somebody else: a port, a lock. */
  busy: row(503, "api_error", "busy", "overloaded_error", 75, true),
  /** A file of this machine could not be read or written: a full or broken disk. */
  io: row(500, "api_error", "io_error", "api_error", 74),
} as const satisfies Record<string, ErrorOutlets>;

export interface ErrorDetails {
  /** A stable code for machines, finer than the kind (`frame_too_large`, `dns_failure`, …). Default: that of the kind. */
  readonly code?: string;
  /** What the user can do, as one sentence. Default: that of the kind, if it has one. `null`: no hint. */
  readonly hint?: string | null;
  /** The field of the client's request that is wrong, as the client writes it: `messages[2].content`. */
  readonly field?: string;
  /** Overrides the default of the kind, if the upstream was explicit. */
  readonly retryable?: boolean;
  /** How long the upstream asked us to wait. */
  readonly retryAfterMs?: number;
  /** Facts for logs; never a secret, never prompt text. */
  readonly context?: Readonly<Record<string, string | number | boolean>>;
  readonly cause?: unknown;
}

export class ExcursorError extends Error {
  override readonly name = "ExcursorError";
  readonly kind: ErrorKind;
  readonly code: string;
  readonly hint: string | undefined;
  /** True if the hint was written for this error, false if it is the default of its kind. */
  readonly hasOwnHint: boolean;
  readonly field: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly context: Readonly<Record<string, string | number | boolean>>;

  /** `message` is shown to users: one sentence, without secrets, stack traces or paths of this machine. */
  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const outlets: ErrorOutlets = ERROR_TABLE[kind];
    this.kind = kind;
    this.code = details.code ?? outlets.openai.code;
    this.hint = details.hint === undefined ? DEFAULT_HINTS[kind] : (details.hint ?? undefined);
    this.hasOwnHint = typeof details.hint === "string";
    this.field = details.field;
    this.retryable = details.retryable ?? outlets.retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.context = details.context ?? {};
  }

  get outlets(): ErrorOutlets {
    return ERROR_TABLE[this.kind];
  }

  /** Returns the same error with other details. This one becomes its cause. */
  with(details: Omit<ErrorDetails, "cause">): ExcursorError {
    const { code, retryable, context } = this;
    return new ExcursorError(this.kind, this.message, {
      code,
      retryable,
      context,
      ...((this.hasOwnHint || this.hint === undefined) && { hint: this.hint ?? null }),
      ...(this.field !== undefined && { field: this.field }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...details,
      cause: this,
    });
  }

  /** Converts any thrown value. An unknown error is treated as a bug of ours, and its message is not shown. */
  static from(thrown: unknown): ExcursorError {
    if (thrown instanceof ExcursorError) return thrown;
    if (thrown instanceof Error && thrown.name === "AbortError") {
      return new ExcursorError("canceled", "The request was cancelled.", { cause: thrown });
    }
    return new ExcursorError("internal", "Something went wrong inside Excursor.", {
      cause: thrown,
      hint: "This is a bug: please report it with the log lines around it.",
    });
  }
}

/** Shared by all cancellations: making a stack trace costs more than the rest, and many are cancelled at once. */
export const CANCELED: ExcursorError = new ExcursorError("canceled", "The request was cancelled.");
