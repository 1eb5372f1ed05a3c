import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";

export interface SdkSettings {
  readonly url: string;
  /** Where the client keeps agents; a second process with the same one finds them again. */
  readonly home: string;
  readonly apiKey?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface AgentSettings {
  readonly model?: { readonly id: string; readonly params?: readonly { id: string; value: string }[] };
  readonly systemPrompt?: string;
  readonly mode?: "agent" | "plan";
  /** Which of the client's own tools the model may use. Absent: all of them. */
  readonly tools?: readonly string[];
  readonly mcpServers?: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>>;
  readonly local?: {
    readonly cwd?: string;
    readonly enableAgentRetries?: boolean;
    readonly settingSources?: readonly string[];
  };
}

/** Options of one message. */
export interface SendSettings {
  readonly model?: AgentSettings["model"];
  readonly local?: { readonly force?: boolean };
  /** Stops reading the stream after its first message of this type, until {@link SdkProcess.readOn}. */
  readonly holdAt?: string;
}

export type Prompt = string | { readonly text: string; readonly images: readonly { data: string; mimeType: string }[] };

/** What one run gave, as the client showed it. */
export interface RunOutcome {
  readonly status: string;
  readonly error: string | undefined;
  readonly usage: Readonly<Record<string, number>> | undefined;
  /** All assistant text, joined. */
  readonly text: string;
  readonly thinking: string;
  readonly messages: readonly SdkMessage[];
}

export interface SdkMessage {
  readonly type: string;
  readonly name?: string;
  readonly status?: string;
  readonly text?: string;
  readonly args?: unknown;
  readonly result?: unknown;
  readonly message?: { readonly content: readonly { readonly type: string; readonly text?: string }[] };
}

interface Line {
  readonly id?: number;
  readonly event?: string;
  readonly name?: string;
  readonly text?: string;
  readonly message?: SdkMessage;
  readonly done?: unknown;
  readonly failed?: { readonly name: string; readonly message: string; readonly status?: number };
}

/** What the client threw. */
class SdkFailure extends Error {
  readonly status: number | undefined;

  constructor(failed: NonNullable<Line["failed"]>) {
    super(failed.message);
    this.name = failed.name;
    this.status = failed.status;
  }
}

/** The official client in a process of its own. */
export class SdkProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, (line: Line) => void>();
  readonly #listeners = new Set<(line: Line) => void>();
  readonly #gone: Promise<unknown>;
  #lastId = 0;
  /** Everything it wrote to stderr: an unhandled error of the client shows up here only. */
  stderr = "";
  /** The texts that the tool `slow` was called with, in the order of their ends. */
  readonly slowTexts: string[] = [];

  constructor({ url, home, apiKey = "tester", env = {} }: SdkSettings) {
    this.#child = spawn(process.execPath, ["--no-warnings", `${CLIENTS_FOLDER}/sdk-driver.mjs`], {
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home, CURSOR_BACKEND_URL: url, CURSOR_API_KEY: apiKey, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.#gone = new Promise((resolve) => this.#child.once("exit", resolve));
    void this.#read();
  }

  create(agent: string, options: AgentSettings = {}): Promise<string> {
    return this.#call({ op: "create", agent, options }) as Promise<string>;
  }

  resume(agent: string, agentId: string, options: AgentSettings = {}): Promise<string> {
    return this.#call({ op: "resume", agent, agentId, options }) as Promise<string>;
  }

  async send(
    agent: string,
    message: Prompt,
    onMessage?: (message: SdkMessage) => void,
    options: SendSettings = {},
  ): Promise<RunOutcome> {
    const messages: SdkMessage[] = [];
    const result = (await this.#call({ op: "send", agent, message, options }, (line) => {
      if (!line.message) return;
      messages.push(line.message);
      onMessage?.(line.message);
    })) as { status: string; error?: { message: string }; usage?: Record<string, number> };
    const texts = messages.filter(({ type }) => type === "assistant").flatMap(({ message }) => message?.content ?? []);
    const thoughts = messages.filter(({ type }) => type === "thinking");
    return {
      status: result.status,
      error: result.error?.message,
      usage: result.usage,
      text: texts.map(({ text }) => text ?? "").join(""),
      thinking: thoughts.map(({ text }) => text ?? "").join(""),
      messages,
    };
  }

  cancel(agent: string): Promise<unknown> {
    return this.#call({ op: "cancel", agent });
  }

  steer(agent: string, text: string): Promise<unknown> {
    return this.#call({ op: "steer", agent, text });
  }

  models(): Promise<unknown> {
    return this.#call({ op: "models" });
  }

  me(): Promise<{ readonly userEmail?: string }> {
    return this.#call({ op: "me" }) as Promise<{ readonly userEmail?: string }>;
  }

  /** The next call of one of the driver's tools. */
  toolCalled(name: string): Promise<void> {
    return new Promise((resolve) => {
      const listener = (line: Line) => {
        if (line.event !== "tool" || line.name !== name) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  /** Reads on in a stream that was held. */
  readOn(agent: string): Promise<unknown> {
    return this.#call({ op: "readOn", agent });
  }

  /** Stops the process where it is, as a suspended laptop or a debugger would. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Lets a frozen process go on. */
  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Ends the process as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await this.#call({ op: "close" }).catch(() => this.#child.kill());
    await this.#gone;
  }

  #call(command: object, onLine: (line: Line) => void = () => {}): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#open.set(id, (line) => {
        onLine(line);
        if (!("done" in line) && !line.failed) return;
        this.#open.delete(id);
        if (line.failed) reject(new SdkFailure(line.failed));
        else resolve(line.done);
      });
      this.#child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }

  async #read(): Promise<void> {
    if (!this.#child.stdout) return;
    for await (const text of createInterface({ input: this.#child.stdout })) {
      if (!text.startsWith("{")) continue;
      const line = JSON.parse(text) as Line;
      if (line.event === "tool" && line.name === "slow") this.slowTexts.push(line.text ?? "");
      for (const listener of this.#listeners) listener(line);
      if (line.id !== undefined) this.#open.get(line.id)?.(line);
    }
    for (const report of this.#open.values()) report({ failed: { name: "Exit", message: this.stderr || "exited" } });
  }
}
