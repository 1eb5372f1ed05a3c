import { type ErrorDetails, ExcursorError } from "../errors.ts";

/** A request is refused, or its answer is ended, because its key has reached a limit of what it may use. */
export class LimitReached extends ExcursorError {
  /** True if the run that the request would resume is kept until the limit is lifted. */
  readonly keepsRun: boolean;

  constructor(message: string, keepsRun: boolean, details: ErrorDetails) {
    super("quota-exhausted", message, details);
    this.keepsRun = keepsRun;
  }
}
