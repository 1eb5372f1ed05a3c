import { ExcursorError } from "../../../core/errors.ts";

/** How long the backend may take for its next frame, a heartbeat at least, after it got tool results. */
const RESUME_MS = 20_000;

/** A stream that does not stir after it got what it waited for will not: whoever asked is told. */
export class ResumeWatch {
  #timer: NodeJS.Timeout | undefined;

  start(onStalled: (error: ExcursorError) => void): void {
    const message = "The backend did not go on after it got the tool results.";
    this.#timer = setTimeout(
      () => onStalled(new ExcursorError("timeout", message, { code: "resume_stalled" })),
      RESUME_MS,
    );
  }

  /** Something came, or nobody waits any more. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
