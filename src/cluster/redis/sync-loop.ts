import { ExcursorError } from "../../core/errors.ts";

export interface SyncLoopOptions {
  readonly work: () => Promise<void>;
  readonly intervalMs: number;
  /** Told why the work fails, once for each reason. */
  readonly onProblem: (text: string) => void;
}

/** Repeats work at intervals, and when it is asked to; never twice at the same time. */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #timer: NodeJS.Timeout;
  #work: Promise<void> | undefined;
  #problem: string | undefined;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.run(), options.intervalMs).unref();
  }

  /** Resolves when the work is done. Never rejects. */
  run(): Promise<void> {
    this.#work ??= this.#run().finally(() => {
      this.#work = undefined;
    });
    return this.#work;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #run(): Promise<void> {
    const { work, onProblem } = this.#options;
    const problem = await work().then(
      () => undefined,
      (error: unknown) => ExcursorError.from(error).message,
    );
    const isNew = problem !== this.#problem;
    this.#problem = problem;
    if (problem !== undefined && isNew) onProblem(problem);
  }
}
