import type { ElicitRequest, ElicitResult, Progress, UrlElicitationRequiredError } from "@modelcontextprotocol/client";
import { unlessAborted } from "../../core/abort-race.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TraceContext } from "../../core/http/trace-context.ts";
import type { Elicit, Elicitation } from "../../core/hub/tool-hub.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { CallClock } from "./call-clock.ts";

export interface CallContext {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The trace of the call, which is passed on to the server. */
  readonly trace?: TraceContext | undefined;
  /** Answers questions of the server. Absent: questions are declined. */
  readonly elicit?: Elicit | undefined;
}

/** A call under way. */
export interface CallEntry {
  readonly clock: CallClock;
  readonly context: CallContext;
}

export interface ServerQuestionsOptions {
  readonly server: string;
  /** How long the user may take. */
  readonly elicitationMs: number;
  /** The calls under way, in the order in which they began. */
  readonly calls: ReadonlySet<CallEntry>;
  /** Called with one sentence for the log. */
  readonly onNote?: ((text: string) => void) | undefined;
}

const MAX_PAGES = 4;

/** Passes the questions of a server on to the client of one of its calls. */
export class ServerQuestions {
  readonly #options: ServerQuestionsOptions;
  /** Calls through which a question is being asked. */
  readonly #asked = new Set<CallEntry>();
  readonly #noted = new WeakSet<object>();

  constructor(options: ServerQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Asks through the most recent call whose client can be asked and is not being asked already. The protocol does not
   * say which call a question belongs to. All calls of a connection belong to one principal.
   */
  async ask(params: ElicitRequest["params"]): Promise<ElicitResult> {
    const calls = [...this.#options.calls];
    const askable = calls.filter(({ context }) => context.elicit);
    const entry = askable.findLast((one) => !this.#asked.has(one)) ?? askable.at(-1);
    if (!entry) {
      const reason = calls.length === 0 ? "no call is running" : "the client that made the call cannot ask the user";
      this.#noteQuestion(calls.at(-1) ?? this, `was declined: ${reason}`);
      return { action: "decline" };
    }
    if (calls.length > 1)
      this.#noteQuestion(
        entry,
        `came while ${calls.length} calls were running; the client of the latest call was asked`,
      );
    this.#asked.add(entry);
    try {
      const asked = this.#askThrough(params, entry);
      // Any of the calls may wait for the answer.
      await Promise.all(calls.map(({ clock }) => clock.pauseFor(asked)));
      return await asked;
    } finally {
      this.#asked.delete(entry);
    }
  }

  /** Logs once for each call, so that a server cannot flood the log. */
  #noteQuestion(subject: object, text: string): void {
    if (this.#noted.has(subject)) return;
    this.#noted.add(subject);
    this.#options.onNote?.(`A question of the MCP server "${this.#options.server}" ${text}.`);
  }

  async #askThrough(params: ElicitRequest["params"], { clock, context }: CallEntry): Promise<ElicitResult> {
    const { elicit, signal } = context;
    const question = this.#questionOf(params);
    if (!elicit || !question) return { action: "decline" };
    const limited = AbortSignal.any([signal, AbortSignal.timeout(this.#options.elicitationMs)]);
    // `elicit` may ignore the signal.
    const asked = unlessAborted(elicit(question, limited), limited).catch(() => undefined);
    const answer = await clock.pauseFor(asked);
    if (answer?.action !== "accept") return { action: answer?.action ?? "cancel" };
    return question.url === undefined ? { action: "accept", content: { ...answer.content } } : { action: "accept" };
  }

  /** Returns undefined if the question must not be shown to a user. */
  #questionOf(params: ElicitRequest["params"]): Elicitation | undefined {
    const { server } = this.#options;
    const { message } = params;
    if (params.mode !== "url") return { server, message, schema: params.requestedSchema as unknown as JsonObject };
    const url = URL.canParse(params.url) ? new URL(params.url) : undefined;
    const isPage = url?.protocol === "https:" || url?.protocol === "http:";
    return isPage ? { server, message, schema: {}, url: url.href } : undefined;
  }

  /** Shows the pages that the user must open before a call. The call was not made and is not repeated automatically. */
  async showPages({ elicitations }: UrlElicitationRequiredError, entry: CallEntry): Promise<ExcursorError> {
    const pages: string[] = [];
    for (const params of elicitations.slice(0, MAX_PAGES)) {
      const { action } = await this.#askThrough(params, entry);
      const url = this.#questionOf(params)?.url;
      if (url !== undefined) pages.push(action === "accept" ? `${url} (shown to the user)` : url);
    }
    return new ExcursorError(
      "mcp_needs_page",
      `The MCP server "${this.#options.server}" requires the user to open a page before this call: ${pages.join(", ")}. Repeat the call after that.`,
      { retryable: false, hint: null },
    );
  }
}
