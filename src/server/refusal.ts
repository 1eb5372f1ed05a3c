import { type ErrorDetails, type ErrorKind, ExcursorError } from "../core/errors.ts";

/** A request that is turned away for what it is as HTTP, before any face has seen it. */
export class Refusal extends ExcursorError {
  /** HTTP has statuses for these that no other outlet needs. */
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
