import { ExcursorError } from "../core/errors.ts";

/** Something that is started and stopped, any number of times. */
export interface Lifecycle<Opened> {
  /** Starts it unless it runs or is being started. */
  start(): Promise<void>;
  /** Stops it if it runs; waits for a start under way first. */
  stop(close: (opened: Opened) => Promise<void>): Promise<void>;
  /** Throws unless it runs. */
  current(): Opened;
}

/** @param name what does not run, for the error: `The gateway`. */
export function createLifecycle<Opened>(name: string, open: () => Promise<Opened>): Lifecycle<Opened> {
  let starting: Promise<Opened> | undefined;
  let running: Opened | undefined;
  return {
    async start() {
      starting ??= open();
      const attempt = starting;
      try {
        const opened = await attempt;
        // It may have been stopped meanwhile.
        if (starting === attempt) running = opened;
      } catch (error) {
        if (starting === attempt) starting = undefined;
        throw error;
      }
    },
    async stop(close) {
      const stopping = starting;
      starting = undefined;
      running = undefined;
      const opened = await stopping?.catch(() => undefined);
      if (opened !== undefined) await close(opened);
    },
    current() {
      if (running !== undefined) return running;
      throw new ExcursorError("not_started", [name]);
    },
  };
}
