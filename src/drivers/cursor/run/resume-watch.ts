import { ExcursorError } from "../../../core/errors.ts";

/** How long the backend may take for its next frame, at least a heartbeat, after it got tool results. */
const RESUME_MS = 20_000;

/** Fails a run if its stream stays silent after tool results. */
export class ResumeWatch {
  #timer: NodeJS.Timeout | undefined;

  start(onStalled: (error: ExcursorError) => void): void {
    const message = "The backend did not continue after it received the tool results.";
    this.#timer = setTimeout(() => onStalled(new ExcursorError("resume_stalled", message)), RESUME_MS);
  }

  /** Called when a frame arrives or the run is over. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
