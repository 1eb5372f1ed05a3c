import { type CallToolResult, type Progress, UrlElicitationRequiredError } from "@modelcontextprotocol/client";
import { unlessAborted } from "../../core/abort-race.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { NEEDS_LOGIN } from "../oauth/errors.ts";
import { inlineLinks } from "../tools/inline-links.ts";
import { listTools, type ServerTool, type ToolList } from "../tools/tool-list.ts";
import { CallClock } from "./call-clock.ts";
import { Link, type LinkOptions } from "./link.ts";
import { serverError } from "./server-errors.ts";
import { type CallContext, type CallEntry, ServerQuestions } from "./server-questions.ts";
import { TailText } from "./tail-text.ts";

export type ConnectionOptions = Pick<
  LinkOptions,
  "server" | "environment" | "watchdog" | "limits" | "authorization"
> & {
  /** Called when its tools have changed, appeared or disappeared. */
  readonly onTools: () => void;
  /** Returns the names of tools that are held back until the user approves them. */
  readonly screen?: ((tools: readonly ServerTool[]) => ReadonlySet<string>) | undefined;
  readonly onTrouble: (error: ExcursorError) => void;
  /** Called with one sentence for the log. */
  readonly onNote?: ((text: string) => void) | undefined;
};

export type ConnectionState = "idle" | "connecting" | "ready" | "waiting" | "closed";

/**
 * A server, across reconnects. Connects on first use and reconnects after a loss, at growing intervals. Keeps its list
 * of tools current.
 */
export class ServerConnection {
  readonly #options: ConnectionOptions;
  readonly #stderr: TailText;
  #link: Link | undefined;
  #opening: Promise<Link> | undefined;
  #list: ToolList = { tools: [], problems: [] };
  #heldNames: ReadonlySet<string> = new Set();
  #error: ExcursorError | undefined;
  #failures = 0;
  #readyAt = 0;
  #retryAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isRetired = false;
  readonly #life = new AbortController();
  readonly #calls = new Set<CallEntry>();
  readonly #questions: ServerQuestions;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#stderr = new TailText(options.limits.stderrBytes);
    this.#questions = new ServerQuestions({
      server: this.name,
      elicitationMs: options.limits.elicitationMs,
      calls: this.#calls,
      onNote: options.onNote,
    });
  }

  get name(): string {
    return this.#options.server.name;
  }

  get tools(): readonly ServerTool[] {
    const { disabledTools = [] } = this.#options.server;
    return this.#list.tools.filter(({ name }) => !this.#heldNames.has(name) && !disabledTools.includes(name));
  }

  /** Tools that are not approved in their current form. They are neither offered nor called. */
  get held(): readonly ServerTool[] {
    return this.#list.tools.filter(({ name }) => this.#heldNames.has(name));
  }

  /** Problems of tools that are not offered. */
  get problems(): readonly string[] {
    const problems = this.#list.problems.map((problem) => `The MCP server "${this.name}": ${problem}.`);
    if (this.held.length === 0) return problems;
    const names = this.held.map(({ name }) => name).join(", ");
    const text = `The MCP server "${this.name}" has tools that have changed, or may have changed, since they were approved: ${names}. They are not offered. Review and approve them: excursor mcp approve ${this.name}`;
    return [text, ...problems];
  }

  review(): void {
    const before = JSON.stringify([...this.#heldNames]);
    this.#screen();
    if (JSON.stringify([...this.#heldNames]) !== before) this.#options.onTools();
  }

  #screen(): void {
    this.#heldNames = this.#options.screen?.(this.#list.tools) ?? new Set();
  }

  get state(): ConnectionState {
    if (this.#life.signal.aborted) return "closed";
    if (this.#opening) return "connecting";
    if (this.#link) return "ready";
    return this.#failures > 0 ? "waiting" : "idle";
  }

  get error(): ExcursorError | undefined {
    return this.#error;
  }

  get about(): { readonly transport: string; readonly version: string; readonly garbageLines: number } {
    const { name, version } = this.#link?.client.getServerVersion() ?? {};
    return {
      transport: this.#link?.transportName ?? this.#options.server.type,
      version: name === undefined ? "" : `${name} ${version ?? ""}`.trim(),
      garbageLines: this.#link?.garbageLines ?? 0,
    };
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  /** Connects if necessary. Concurrent callers share the attempt. */
  async connect(): Promise<void> {
    await this.#ready();
  }

  /** Reconnects without waiting any longer, for example after a sign-in. */
  async retry(): Promise<void> {
    if (this.#link || this.#failures === 0) return;
    clearTimeout(this.#timer);
    await this.#retry();
  }

  async call(tool: string, args: JsonObject, context: CallContext): Promise<CallToolResult> {
    if (this.#isRetired) throw stopped(this.name);
    if (this.#heldNames.has(tool)) throw heldBack(this.name, tool);
    const clock = new CallClock(this.name, this.#options.limits);
    const entry = { clock, context };
    const signal = AbortSignal.any([clock.signal, context.signal]);
    const onProgress = (progress: Progress) => {
      clock.touch();
      context.onProgress?.(progress);
    };
    const { trace } = context;
    this.#calls.add(entry);
    let link: Link | undefined;
    try {
      link = await unlessAborted(this.#ready(), signal);
      // It may have been started for this call, with other tools than before.
      if (this.#heldNames.has(tool)) throw heldBack(this.name, tool);
      try {
        return await link.call(this.#known(tool), args, { signal, onProgress, trace });
      } catch (error) {
        if (!link.hasLostSession(error)) throw error;
        link = await unlessAborted(this.#replace(link), signal);
        return await link.call(this.#known(tool), args, { signal, onProgress, trace });
      }
    } catch (error) {
      if (clock.signal.aborted) throw clock.signal.reason;
      context.signal.throwIfAborted();
      if (error instanceof UrlElicitationRequiredError) throw await this.#questions.showPages(error, entry);
      throw link?.failure ?? this.#errorOf(error, `the call of ${JSON.stringify(tool.slice(0, 64))}`);
    } finally {
      clock.stop();
      this.#calls.delete(entry);
      if (this.#isRetired && !this.isBusy) void this.close();
    }
  }

  /** Adds the text of linked resources to a result, if the server can be asked for them. */
  async readLinks(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    const { client } = this.#link ?? {};
    if (!client?.getServerCapabilities()?.resources) return result;
    return inlineLinks(result, async (uri) => {
      const timeout = AbortSignal.timeout(this.#options.limits.linkMs);
      return (await client.readResource({ uri }, { signal: AbortSignal.any([signal, timeout]) })).contents;
    });
  }

  /** Calls under way. */
  get callCount(): number {
    return this.#calls.size;
  }

  get isBusy(): boolean {
    return this.callCount > 0;
  }

  /** Stops an unused server. The next call starts it again; its list of tools is kept. */
  async rest(): Promise<void> {
    const link = this.#link;
    if (this.isBusy) return;
    // A failing server is not restarted while it is unused.
    clearTimeout(this.#timer);
    if (!link) return;
    this.#link = undefined;
    await link.close();
  }

  /** Accepts no more calls, and closes after the last one. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    if (!this.isBusy) await this.close();
  }

  async close(): Promise<void> {
    this.#life.abort();
    clearTimeout(this.#timer);
    const link = this.#link ?? (await this.#opening?.catch(() => undefined));
    this.#link = undefined;
    await link?.close();
  }

  #ready(): Promise<Link> {
    if (this.#link) return Promise.resolve(this.#link);
    const { name } = this;
    if (this.#life.signal.aborted) return Promise.reject(stopped(name));
    const waitMs = this.#retryAt - performance.now();
    // A lost server is restarted at once. One that repeatedly cannot be started waits for its back-off.
    if (!this.#opening && this.#error && this.#failures > 1 && waitMs > 0) return Promise.reject(this.#error);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Replaces a link whose session is lost. Concurrent callers share the new one. */
  async #replace(lost: Link): Promise<Link> {
    if (this.#link === lost) {
      this.#link = undefined;
      lost.retire();
    }
    return this.#ready();
  }

  async #open(): Promise<Link> {
    clearTimeout(this.#timer);
    const { limits } = this.#options;
    let link: Link | undefined;
    try {
      link = await Link.open({
        ...this.#options,
        stderr: this.#stderr,
        signal: this.#life.signal,
        onElicit: (params) => this.#questions.ask(params),
        onToolsChanged: () => void this.#refresh(),
        onLost: (lost) => this.#onLost(lost),
      });
      this.#list = await unlessAborted(listTools(link.client, limits), this.#life.signal);
      this.#screen();
    } catch (thrown) {
      const error = link?.failure ?? this.#errorOf(thrown, "the handshake");
      void link?.close();
      this.#onFailure(error);
      throw error;
    }
    if (this.#life.signal.aborted) {
      await link.close();
      throw stopped(this.name);
    }
    this.#link = link;
    this.#error = undefined;
    this.#readyAt = performance.now();
    this.#options.onTools();
    return link;
  }

  #onLost(lost: Link): void {
    if (this.#link !== lost) return;
    this.#link = undefined;
    // A server that ran for a while is restarted quickly.
    if (performance.now() - this.#readyAt > this.#options.limits.maxBackOffMs) this.#failures = 0;
    this.#onFailure(
      lost.failure ?? new ExcursorError("upstream-unavailable", `The MCP server "${this.name}" closed the connection.`),
    );
  }

  #onFailure(error: ExcursorError): void {
    const { backOffMs, maxBackOffMs } = this.#options.limits;
    const pauseMs = Math.min(maxBackOffMs, backOffMs * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures++;
    this.#error = error;
    this.#retryAt = performance.now() + pauseMs;
    if (this.#life.signal.aborted) return;
    this.#options.onTrouble(error);
    // Waiting repairs neither wrong settings nor a missing sign-in.
    if (error.kind === "config" || error.code === NEEDS_LOGIN) return;
    this.#timer = setTimeout(() => void this.#retry(), pauseMs).unref();
  }

  async #retry(): Promise<void> {
    this.#retryAt = 0;
    // `#onFailure` has reported it.
    await this.#ready().catch(() => {});
  }

  async #refresh(): Promise<void> {
    const link = this.#link;
    if (!link) return;
    try {
      const list = await listTools(link.client, this.#options.limits);
      if (this.#link !== link) return;
      this.#list = list;
      this.#screen();
      this.#options.onTools();
    } catch (error) {
      this.#options.onTrouble(this.#errorOf(error, "the list of its tools"));
    }
  }

  #known(tool: string): Pick<ServerTool, "name" | "schema"> {
    return this.#list.tools.find(({ name }) => name === tool) ?? { name: tool, schema: {} };
  }

  #errorOf(thrown: unknown, doing: string): ExcursorError {
    return serverError(this.name, thrown, doing, { isSignedInTo: this.#options.authorization !== undefined });
  }
}

const stopped = (server: string): ExcursorError =>
  new ExcursorError("canceled", `The MCP server "${server}" was stopped.`);

const heldBack = (server: string, tool: string): ExcursorError =>
  new ExcursorError("mcp_tool_changed", [server, JSON.stringify(tool.slice(0, 64)), server]);
