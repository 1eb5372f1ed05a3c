import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";
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

/** A code that another process reports, so it need not be in our table. */
export type ReportedCode = string & { readonly [reported]: true };
declare const reported: unique symbol;

export interface ErrorDetails {
  /** Only for an error that another process reports. */
  readonly code?: ReportedCode;
  /** Overrides the kind of the code. */
  readonly kind?: ErrorKind;
  /** What the user can do, as one sentence. Default: that of the code or of the kind, if it has one. `null`: no hint. */
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

type Value = string | number;

/** A value for each `…`. */
type Values = readonly [] | readonly [Value] | readonly [Value, Value] | readonly [Value, Value, Value];

type ValuesOf<Text extends string> = Text extends `${string}…${infer Rest}`
  ? readonly [Value, ...ValuesOf<Rest>]
  : readonly [];

type Row = readonly [kind: ErrorKind, says: string, hint?: string];

/** The texts of a row that have a `…` for a value. */
interface Texts<Of extends Row> {
  readonly sentence: Of[1];
  readonly hint: Of extends readonly [unknown, unknown, infer Hint extends string] ? Hint : "";
  readonly both: `${Of[1]}${this["hint"]}`;
}

/** The codes whose text takes just these values. */
type CodesTaking<List, Text extends keyof Texts<Row>> = {
  [Code in ErrorCode]: ValuesOf<Texts<(typeof ERROR_CODES)[Code]>[Text]> extends List ? Code : never;
}[ErrorCode];

/** A kind, or a code whose hint takes no values: an error of it may say a sentence of its own. */
export type ErrorName = ErrorKind | CodesTaking<readonly [], "hint">;

type WithHint<Details> = Details & { readonly hint: string | null };

type Filled<Details, List = Values> = List extends Values
  ?
      | readonly [code: CodesTaking<List, "both">, values: List, details?: Details]
      | readonly [code: CodesTaking<List, "sentence">, values: List, details: WithHint<Details>]
  : never;

/**
 * The arguments of an error: a code with the values of its sentence and then of its hint, or a code or kind with a sentence of
 * its own. A sentence is shown to users: without secrets, stack traces or paths of this machine.
 */
export type ErrorArguments<Details = ErrorDetails> =
  | readonly [code: CodesTaking<readonly [], "both">]
  | Filled<Details>
  | readonly [name: ErrorName, message: string, details?: Details]
  | readonly [name: ErrorCode, message: string, details: WithHint<Details>];

export class ExcursorError extends Error {
  override readonly name = "ExcursorError";
  readonly kind: ErrorKind;
  /** A stable code for machines. Default: the name of the kind. */
  readonly code: string;
  readonly hint: string | undefined;
  /** True if the hint was written for this error or its code, false if it is the default of its kind. */
  readonly hasOwnHint: boolean;
  readonly field: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly context: Readonly<Record<string, string | number | boolean>>;

  constructor(...[name, said = [], details = {}]: ErrorArguments) {
    const [kind, sentence, codeHint] = rowOf(name);
    const values: Value[] = typeof said === "string" ? [] : [...said];
    const fill = (text: string) => text.replaceAll("…", () => String(values.shift()));
    super(
      typeof said === "string" ? said : fill(sentence),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.kind = details.kind ?? kind;
    this.code = details.code ?? (Object.hasOwn(ERROR_CODES, name) ? name : codeOfKind(this.kind));
    const ownHint = details.hint === undefined ? codeHint && fill(codeHint) : details.hint;
    this.hint = ownHint === undefined ? DEFAULT_HINTS[this.kind] : (ownHint ?? undefined);
    this.hasOwnHint = typeof ownHint === "string";
    this.field = details.field;
    this.retryable = details.retryable ?? ERROR_KINDS[this.kind].retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.context = details.context ?? {};
  }

  /** Returns the same error with other details. This one becomes its cause. */
  with({
    message = this.message,
    ...details
  }: Omit<ErrorDetails, "cause"> & { readonly message?: string }): ExcursorError {
    const { kind, code, retryable, context } = this;
    return new ExcursorError(kind, message, {
      code: code as ReportedCode,
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

const rowOf = (name: ErrorKind | ErrorCode): Row =>
  Object.hasOwn(ERROR_CODES, name) ? ERROR_CODES[name as ErrorCode] : [name as ErrorKind, ""];

/** Shared by all cancellations: making a stack trace costs more than the rest, and many are cancelled at once. */
export const CANCELED: ExcursorError = new ExcursorError("canceled", "The request was cancelled.");
