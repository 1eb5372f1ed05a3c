import { type ErrorDetails, type ErrorKind, ExcursorError } from "../core/errors.ts";

/** A request refused at the HTTP level, before its face parses it. */
export class Refusal extends ExcursorError {
  /** Overrides the status of the error's kind. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    kind: ErrorKind,
    message: string,
    details: ErrorDetails & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(kind, message, details);
    this.status = status;
    this.headers = details.headers ?? {};
  }
}
