import { DEFAULT_HINTS } from "./error-hints.ts";

/**
 * The kinds of errors, and for each whether trying the same thing again later may help.
 *
 * Whatever fails, in a parser, on the wire, in a face or in a command, fails as an {@link ExcursorError} of one of these
 * kinds. How a kind is shown is decided where it is shown: each face has a table of statuses and words (`errors.ts`), the
 * command line one of exit codes. Foreign errors come in once, at the boundary that knows them, through
 * {@link ExcursorError.from}.
 */
export const ERROR_KINDS = {
  "invalid-request": { retryable: false },
  "context-overflow": { retryable: false },
  unauthenticated: { retryable: false },
  "payment-required": { retryable: false },
  forbidden: { retryable: false },
  "not-found": { retryable: false },
  "model-not-found": { retryable: false },
  deprecated: { retryable: false },
  "too-large": { retryable: false },
  "outdated-client": { retryable: false },
  "rate-limited": { retryable: true },
  "quota-exhausted": { retryable: false },
  canceled: { retryable: false },
  internal: { retryable: false },
  unsupported: { retryable: false },
  /** The upstream failed by its own account. */
  "upstream-failed": { retryable: true },
  /** The upstream sent bytes that we cannot read as its protocol. */
  "upstream-protocol": { retryable: false },
  /** The upstream could not be reached, or went away. */
  "upstream-unavailable": { retryable: true },
  timeout: { retryable: true },
  /** A setting, flag or file of the user's that cannot work. */
  config: { retryable: false },
  /** Something of ours is held by somebody else: a port, a lock. */
  busy: { retryable: true },
  /** A file of this machine could not be read or written: a full or broken disk. */
  io: { retryable: false },
} as const satisfies Record<string, { readonly retryable: boolean }>;

export type ErrorKind = keyof typeof ERROR_KINDS;

/** Returns the code of an error that has none of its own. */
export const codeOfKind = (kind: ErrorKind): string => kind.replaceAll("-", "_");

export interface ErrorDetails {
  /** A stable code for machines, finer than the kind (`frame_too_large`, `dns_failure`, …). Default: the name of the kind. */
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
    this.kind = kind;
    this.code = details.code ?? codeOfKind(kind);
    this.hint = details.hint === undefined ? DEFAULT_HINTS[kind] : (details.hint ?? undefined);
    this.hasOwnHint = typeof details.hint === "string";
    this.field = details.field;
    this.retryable = details.retryable ?? ERROR_KINDS[kind].retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.context = details.context ?? {};
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
    return new ExcursorError("internal", "Excursor failed with an internal error.", {
      cause: thrown,
      hint: "This is a bug. Please report it with the log lines around it.",
    });
  }
}

/** Shared by all cancellations: making a stack trace costs more than the rest, and many are cancelled at once. */
export const CANCELED: ExcursorError = new ExcursorError("canceled", "The request was cancelled.");
