import type { AgentInfo } from "../../../core/driver.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { AgentProcess, ProcessOptions } from "./agent-process.ts";

/** A process in use. It is not stopped before `release`. */
export interface Lease {
  readonly process: AgentProcess;
  release(): void;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** One agent: started on demand, stopped when idle, restarted after a crash, with exponential backoff. */
export class Agent {
  /** Whether it accepts images. Unknown until the first start. */
  takesImages: boolean | undefined;
  /** Why it could not start, or has exited by itself. Undefined while it runs. */
  error: ExcursorError | undefined;
  readonly #options: ProcessOptions;
  #starting: Promise<AgentProcess> | undefined;
  #process: AgentProcess | undefined;
  #users = 0;
  #idle: NodeJS.Timeout | undefined;
  #failures = 0;
  #notBefore = 0;
  #isClosed = false;

  constructor(options: ProcessOptions) {
    this.#options = {
      ...options,
      onExit: (error, stderr) => {
        this.error = error;
        options.onExit(error, stderr);
      },
    };
  }

  get name(): string {
    return this.#options.settings.name;
  }

  get state(): AgentInfo["state"] {
    if (this.#starting) return "starting";
    if (this.#process && !this.#process.isOver) return "running";
    return this.error ? "failed" : "stopped";
  }

  /** How many turns it works on. */
  get turns(): number {
    return this.#users;
  }

  async lease(): Promise<Lease> {
    this.#users++;
    clearTimeout(this.#idle);
    try {
      const process = await this.#running();
      let isReleased = false;
      return {
        process,
        release: () => {
          if (!isReleased) this.#leave();
          isReleased = true;
        },
      };
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  get isShared(): boolean {
    return this.#users > 1;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    const process = this.#process ?? (await this.#starting?.catch(() => undefined));
    await process?.end();
  }

  #leave(): void {
    this.#users--;
    if (this.#users > 0 || this.#isClosed) return;
    const { idleMs } = this.#options.limits;
    this.#idle = setTimeout(() => {
      const process = this.#process;
      this.#process = undefined;
      void process?.end();
    }, idleMs).unref();
  }

  #running(): Promise<AgentProcess> {
    if (this.#isClosed) throw new ExcursorError("busy", "The gateway is shutting down.");
    if (this.#process && !this.#process.isOver) return Promise.resolve(this.#process);
    const waitMs = this.#notBefore - performance.now();
    if (!this.#starting && waitMs > 0) {
      throw new ExcursorError("agent_pauses", [this.name], { retryAfterMs: Math.ceil(waitMs) });
    }
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<AgentProcess> {
    try {
      // Loaded on demand: most gateways never start an agent.
      const { AgentProcess } = await import("./agent-process.ts");
      const process = await AgentProcess.start(this.#options);
      this.#process = process;
      this.takesImages = process.capabilities.promptCapabilities.image;
      this.#failures = 0;
      this.error = undefined;
      return process;
    } catch (error) {
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
      this.#notBefore = performance.now() + pause;
      this.error = ExcursorError.from(error);
      throw error;
    }
  }
}
