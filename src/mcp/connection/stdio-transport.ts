import { existsSync } from "node:fs";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import { LineSplitter } from "../../process/line-splitter.ts";
import { minimalEnvironment } from "../../process/minimal-environment.ts";
import { type ProcessGroup, startGroup } from "../../process/process-group.ts";
import type { Watchdog } from "../../process/watchdog.ts";
import type { HubLimits } from "../limits.ts";
import type { StdioServer } from "../servers/server-config.ts";
import { messageTooLarge } from "./server-errors.ts";
import type { TailText } from "./tail-text.ts";

export interface StdioOptions {
  readonly server: StdioServer;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly watchdog: Watchdog;
  readonly limits: HubLimits;
  readonly stderr: TailText;
}

/**
 * The transport of a server that runs as a child process: one JSON-RPC message a line, on stdin and stdout. Unlike the
 * SDK's transport it ends all descendants, and limits the size of a message.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why it ended by itself. Undefined while it runs, or if we ended it. */
  failure: ExcursorError | undefined;
  /** Lines on stdout that were not messages. */
  garbageLines = 0;
  readonly #options: StdioOptions;
  readonly #splitter: LineSplitter;
  #group: ProcessGroup | undefined;
  #isOver = false;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#splitter = new LineSplitter(options.limits.messageBytes);
  }

  async start(): Promise<void> {
    const { server, environment, watchdog, stderr } = this.#options;
    const named = Object.fromEntries(Object.entries(server.env).map(([name, value]) => [name, value.reveal()]));
    const { command, args, folder } = server;
    const options = { command, args, folder, environment: minimalEnvironment(environment, named), watchdog };
    const group = await startGroup(options).catch((error: unknown) => {
      throw cannotStart(server, error);
    });
    this.#group = group;
    const { child } = group;
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr.add(text));
    child.once("exit", (code, signal) => {
      const how = signal ? `was killed by ${signal}` : `exited with code ${code}`;
      this.#fail(new ExcursorError("mcp_server_exited", `The MCP server "${server.name}" ${how}.`));
    });
    // It may have been closed during the start.
    if (this.#isOver) await group.end();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#group?.child.stdin;
    if (!stdin?.writable) return Promise.reject(this.failure ?? new Error("It is not running."));
    return new Promise((resolve) => {
      if (stdin.write(serializeMessage(message))) resolve();
      // The stream of an ended program never drains.
      else stdin.once("drain", resolve).once("close", resolve);
    });
  }

  async close(): Promise<void> {
    this.#finish();
    await this.#group?.end();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#splitter.push(chunk, (line) => this.#take(line));
    } catch {
      this.#fail(messageTooLarge(this.#options.server.name, this.#options.limits.messageBytes));
    }
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch {
      this.garbageLines++;
      return;
    }
    this.onmessage?.(message);
  }

  #fail(error: ExcursorError): void {
    if (this.#isOver) return;
    this.failure = error;
    this.#finish();
    // Its descendants may still run.
    void this.#group?.end();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onclose?.();
  }
}

function cannotStart({ name, command, folder }: StdioServer, cause: unknown): ExcursorError {
  const { code } = cause as NodeJS.ErrnoException;
  if (folder !== undefined && !existsSync(folder)) {
    return new ExcursorError("mcp_no_folder", [name], { cause });
  }
  const why =
    code === "ENOENT"
      ? `the program "${command}" was not found`
      : `"${command}" cannot be started (${code ?? "unknown"})`;
  return new ExcursorError("mcp_no_command", `The MCP server "${name}": command: ${why}.`, { cause });
}
