import type { Run, RunContext } from "../../../core/driver.ts";
import type { RetryBudget } from "../../../core/engine/run/retry-budget.ts";
import { RunChannel } from "../../../core/engine/run/run-channel.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import { traceFields } from "../../../core/http/trace-context.ts";
import { type Ignorable, ignoredNotice } from "../../../core/notices/ignored.ts";
import { TagReader } from "../../../core/thinking/tag-reader.ts";
import type { AssistantMessage, Message, ToolMessage, Turn } from "../../../core/turn.ts";
import { type WireLimits, wireLimits } from "../../../wire/limits.ts";
import { SseCall } from "../../../wire/sse/sse-call.ts";
import { AnswerParts, asFirstGiven, firstCallId } from "../answer-parts.ts";
import { type ApiEndpoint, hopHeaders } from "./api-endpoint.ts";
import { refusedCall } from "./api-error.ts";

interface ApiProtocol {
  /** Relative to the base path. */
  readonly path: string;
  /** True if models may write their thinking into the text, between tags. */
  readonly readsTags: boolean;
  request(turn: Turn): Promise<ApiRequest>;
  /** Creates the reader of one answer. */
  reader(turn: Turn): ApiReader;
  /** Returns a simpler turn to try after a refusal, or undefined. */
  simplify?(turn: Turn, refusal: ExcursorError): Turn | undefined;
}

export interface ApiRequest {
  readonly body: object;
  /** Options of the turn that the upstream does not support. */
  readonly ignored: readonly Ignorable[];
}

export interface ApiReader {
  /** Converts an event. Throws the upstream's error, or a protocol error. */
  read(name: string, data: string): readonly TurnEvent[];
  /** Ends the stream. Returns the closing events, with `done` if the upstream finished the answer. */
  end(): readonly TurnEvent[];
}

export interface ApiRunParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly endpoint: ApiEndpoint;
  readonly protocol: ApiProtocol;
  /** Shared by all runs of this upstream. */
  readonly retries: RetryBudget;
  readonly limits?: Partial<ApiLimits> | undefined;
}

/** Limits on an upstream, in milliseconds and characters. */
export interface ApiLimits extends Pick<WireLimits, "headersTimeoutMs" | "idleTimeoutMs" | "lingerMs"> {
  /** How long it may send only pings, comments and empty deltas. */
  readonly quietTimeoutMs: number;
  /** One answer, including thinking and call arguments. */
  readonly maxAnswerLength: number;
}

/** Generous, since models on a small machine read a long prompt in silence. */
const LIMITS: ApiLimits = {
  headersTimeoutMs: 300_000,
  idleTimeoutMs: 300_000,
  lingerMs: 2_000,
  quietTimeoutMs: 15 * 60_000,
  maxAnswerLength: 64 * 1024 * 1024,
};

/** A client that has waited this long for a connection is not helped by a retry. */
const MAX_RETRY_AGE_MS = 10_000;

/** How long text that may become a tag is held back. */
const TAG_PATIENCE_MS = 100;

/**
 * One answer of a stateless API: each request carries the whole conversation. After tool calls the run is parked, since
 * it knows what the client's transcript may lose: thinking with its signatures.
 */
export class ApiRun implements Run {
  readonly #parts: ApiRunParts;
  readonly #limits: ApiLimits;
  readonly #channel: RunChannel;
  readonly #tags: TagReader | undefined;
  /** Answers with tool calls, by the client's id of the first call. */
  readonly #answers = new Map<string, AssistantMessage>();
  /** Results with more content than the client's transcript has, by the client's call id. */
  readonly #results = new Map<string, ToolMessage>();
  #said = new AnswerParts();
  #call: SseCall | undefined;
  /** The number of the current request. An earlier stream may end late. */
  #asked = 0;
  /** Refusals that were worked around. Later requests of the turn avoid them from the start. */
  readonly #refusals: ExcursorError[] = [];
  #hasShown = false;
  #answerLength = 0;
  #hasRetried = false;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;

  constructor(parts: ApiRunParts) {
    this.#parts = parts;
    this.#limits = { ...LIMITS, ...parts.limits };
    this.#tags = parts.protocol.readsTags ? new TagReader() : undefined;
    this.#channel = new RunChannel({
      onPressure: (isFull) => {
        this.#isFull = isFull;
        if (isFull) this.#call?.pause();
        else this.#call?.resume();
        this.#watchQuiet();
      },
      onOver: (isBroken) => {
        clearTimeout(this.#timer);
        clearTimeout(this.#quietTimer);
        if (isBroken) this.#call?.cancel();
      },
      onLost: parts.context.onLost,
    });
  }

  /** Sends the request. */
  start(): void {
    void this.#ask(this.#parts.turn);
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#channel[Symbol.asyncIterator]();
  }

  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean {
    const parts = this.#said.parts;
    const last = history.findLast((message) => message.role === "assistant");
    const id = last && firstCallId(last);
    const said = last && parts && asFirstGiven(parts, last);
    if (id === undefined || !said || !this.#channel.resume()) return false;
    this.#answers.set(id, said);
    this.#takeNews(results, history);
    // Before this run's own answers are inserted: they were not refused.
    const turn = this.#simplified({ ...this.#parts.turn, messages: history });
    const messages = turn.messages.map((message) =>
      message.role === "tool"
        ? (this.#results.get(message.callId) ?? message)
        : (this.#answers.get(firstCallId(message) ?? "") ?? message),
    );
    this.#said = new AnswerParts();
    this.#answerLength = 0;
    this.#hasShown = false;
    this.#hasRetried = false;
    void this.#ask({ ...turn, messages });
    return true;
  }

  #simplified(turn: Turn): Turn {
    const { protocol } = this.#parts;
    return this.#refusals.reduce((simpler, refusal) => protocol.simplify?.(simpler, refusal) ?? simpler, turn);
  }

  cancel(): void {
    this.#channel.cancel();
  }

  /** Keeps the last result if it has more content than the client's transcript. */
  #takeNews(results: readonly ToolMessage[], history: readonly Message[]): void {
    const content = results.at(-1)?.content;
    const last = history.findLast((message) => message.role === "tool");
    if (content && last && content !== last.content) this.#results.set(last.callId, { ...last, content });
  }

  async #ask(turn: Turn): Promise<void> {
    const { endpoint, protocol, context } = this.#parts;
    const asked = ++this.#asked;
    const isCurrent = () => asked === this.#asked && this.#channel.phase === "running";
    try {
      const { body, ignored } = await protocol.request(turn);
      if (!isCurrent()) return;
      for (const name of ignored) this.#channel.push(ignoredNotice(name));
      const { origin, basePath, headers, transport } = endpoint;
      const reader = protocol.reader(turn);
      const openedAt = performance.now();
      this.#call = new SseCall({
        transport,
        request: {
          origin,
          path: basePath + protocol.path,
          requestId: context.requestId,
          headers: {
            ...headers,
            ...hopHeaders(endpoint, context.hops),
            ...traceFields(context.trace?.()),
            "content-type": "application/json",
            accept: "text/event-stream",
          },
        },
        body: Buffer.from(JSON.stringify(body)),
        limits: wireLimits(this.#limits),
        refusal: (head, refused) => refusedCall(head, refused, endpoint),
        listener: {
          event: (name, data) => {
            if (isCurrent()) this.#read(() => reader.read(name, data));
          },
          done: (error, reached) => {
            if (isCurrent()) this.#read(() => reader.end());
            if (!isCurrent()) return;
            const isEarly = !reached && performance.now() - openedAt < MAX_RETRY_AGE_MS;
            this.#onBroken(turn, error ?? brokenOff(), isEarly);
          },
        },
      });
      context.observer?.phase("opened", openedAt);
      if (this.#isFull) this.#call.pause();
      this.#watchQuiet();
    } catch (error) {
      this.#channel.fail(ExcursorError.from(error));
    }
  }

  /** Tries a simpler turn after a refusal, or the same one if the upstream was not reached. Each once. */
  #onBroken(turn: Turn, error: ExcursorError, isEarly: boolean): void {
    const simpler = this.#hasShown ? undefined : this.#parts.protocol.simplify?.(turn, error);
    if (simpler) {
      this.#refusals.push(error);
      void this.#ask(simpler);
    } else if (isEarly && error.retryable && !this.#hasRetried && this.#parts.retries.spend()) {
      this.#hasRetried = true;
      this.#timer = setTimeout(() => void this.#ask(turn), 250 + Math.random() * 1750);
    } else this.#channel.fail(error);
  }

  #read(read: () => readonly TurnEvent[]): void {
    try {
      for (const event of read()) {
        this.#measure(event);
        this.#take(event);
        this.#quietTimer?.refresh();
      }
    } catch (error) {
      this.#channel.fail(ExcursorError.from(error));
    }
  }

  /** Restarts the timer for silence. It runs only during an answer whose reader keeps up. */
  #watchQuiet(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = undefined;
    if (this.#isFull || this.#channel.phase !== "running") return;
    this.#quietTimer = setTimeout(() => {
      this.#channel.fail(new ExcursorError("quiet_timeout"));
    }, this.#limits.quietTimeoutMs).unref();
  }

  #measure(event: TurnEvent): void {
    if (event.type === "text" || event.type === "thinking") this.#answerLength += event.text.length;
    else if (event.type === "tool-call-delta") this.#answerLength += event.json.length;
    if (this.#answerLength <= this.#limits.maxAnswerLength) return;
    throw new ExcursorError("answer_too_long", [], { context: { limit: this.#limits.maxAnswerLength } });
  }

  #take(event: TurnEvent): void {
    const tags = this.#tags;
    if (!tags) {
      this.#show(event);
      return;
    }
    clearTimeout(this.#timer);
    for (const shown of tags.step(event)) this.#show(shown);
    if (!tags.isHolding || this.#channel.phase !== "running") return;
    this.#timer = setTimeout(() => {
      for (const shown of tags.release()) this.#show(shown);
    }, TAG_PATIENCE_MS);
  }

  #show(event: TurnEvent): void {
    if (this.#channel.phase !== "running") return;
    this.#hasShown = true;
    if (this.#parts.turn.tools.length > 0) this.#said.take(event);
    this.#channel.push(event);
    if (event.type !== "done") return;
    if (event.reason !== "tool-calls") this.#channel.end();
    this.#watchQuiet();
    // If the upstream ends its stream itself, the connection can be reused.
    const call = this.#call;
    setTimeout(() => call?.cancel(), this.#limits.lingerMs).unref();
  }
}

const brokenOff = (): ExcursorError => new ExcursorError("stream_truncated", "The upstream ended its answer early.");
