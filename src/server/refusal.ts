import { type ErrorArguments, type ErrorDetails, ExcursorError } from "../core/errors.ts";

type RefusalDetails = ErrorDetails & { readonly headers?: Readonly<Record<string, string>> };

/** A request refused at the HTTP level, before its face parses it. */
export class Refusal extends ExcursorError {
  /** Overrides the status of the error's kind. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, ...error: ErrorArguments<RefusalDetails>) {
    super(...error);
    this.status = status;
    this.headers = error[2]?.headers ?? {};
  }
}
