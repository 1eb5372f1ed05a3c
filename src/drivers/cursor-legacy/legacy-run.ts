import type { Run, RunContext } from "../../core/driver.ts";
import { RunChannel } from "../../core/engine/run/run-channel.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import { ignoredNotice } from "../../core/notices/ignored.ts";
import { trimmedNotice } from "../../core/notices/trimmed.ts";
import type { ToolMessage } from "../../core/turn.ts";
import { BidiRun } from "../../wire/connect/bidi-run.ts";
import type { RunStream } from "../../wire/connect/run-stream.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import type { LegacyEvent, LegacyProtocol, PreparedTurn } from "./protocol.ts";

export interface LegacyRunParts {
  readonly context: RunContext;
  readonly protocol: LegacyProtocol;
  readonly transport: HttpTransport;
  readonly origin: string;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** Returns new headers after the backend refused the token, or undefined if there is no better one. */
  readonly renewHeaders: () => Promise<Readonly<Record<string, string>> | undefined>;
  readonly prepare: () => Promise<PreparedTurn>;
}

/** These chats do not mark the end of a batch of calls, so a pause ends it. */
const QUIET_MS = 100;

/** One answer of an older chat call. It has no checkpoints: an interrupted stream is lost. */
export class LegacyRun implements Run {
  readonly #protocol: LegacyProtocol;
  readonly #channel: RunChannel;
  readonly #open = new Set<string>();
  #stream: RunStream | undefined;
  #thinkingSince = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(parts: LegacyRunParts) {
    this.#protocol = parts.protocol;
    this.#channel = new RunChannel({
      onPressure: (isFull) => (isFull ? this.#stream?.pause() : this.#stream?.resume()),
      onOver: (isBroken) => {
        clearTimeout(this.#quiet);
        if (isBroken) this.#stream?.cancel();
      },
      onLost: parts.context.onLost,
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#channel[Symbol.asyncIterator]();
  }

  submitResults(results: readonly ToolMessage[]): boolean {
    const known = results.filter(({ callId }) => this.#open.delete(callId));
    if (known.length === 0 || this.#open.size > 0 || !this.#channel.resume()) return false;
    for (const result of known) this.#stream?.send(this.#protocol.result(result));
    return true;
  }

  cancel(): void {
    this.#channel.cancel();
  }

  /** Sends the request. Never rejects: a failure ends the run. */
  async start(parts: LegacyRunParts): Promise<void> {
    try {
      const prepared = await parts.prepare();
      if (prepared.ignoresEffort) this.#channel.push(ignoredNotice("effort"));
      if (prepared.trimmedMessages) this.#channel.push(trimmedNotice(prepared.trimmedMessages));
      const request = parts.protocol.request(prepared);
      this.#send(parts, request, await parts.headers(), (refusal) => void this.#sendAgain(parts, request, refusal));
    } catch (error) {
      this.#channel.fail(ExcursorError.from(error));
    }
  }

  /** Retries once with a renewed token, if there is one. */
  async #sendAgain(parts: LegacyRunParts, request: Uint8Array, refusal: ExcursorError): Promise<void> {
    try {
      const headers = await parts.renewHeaders();
      if (headers) this.#send(parts, request, headers, (error) => this.#onDone(error));
      else this.#onDone(refusal);
    } catch (error) {
      this.#onDone(ExcursorError.from(error));
    }
  }

  #send(
    { protocol, transport, origin }: LegacyRunParts,
    request: Uint8Array,
    headers: Readonly<Record<string, string>>,
    onRefused: (error: ExcursorError) => void,
  ): void {
    if (this.#channel.phase === "over") return;
    let hasBegun = false;
    this.#stream = new BidiRun({
      transport,
      origin,
      path: protocol.path,
      headers,
      listener: {
        message: (payload) => {
          hasBegun = true;
          for (const event of protocol.read(payload)) this.#show(event);
        },
        done: (error) => {
          if (error?.kind === "unauthenticated" && !hasBegun) onRefused(error);
          else this.#onDone(error);
        },
      },
    });
    this.#stream.send(request);
    if (!protocol.isBidi) this.#stream.closeSend();
  }

  #show(event: LegacyEvent): void {
    switch (event.type) {
      case "text":
        this.#channel.push({ type: "text", text: event.text });
        break;
      case "thinking":
        this.#thinkingSince ||= performance.now();
        this.#channel.push({ type: "thinking", text: event.text });
        break;
      case "thinking-done":
        this.#channel.push({ type: "thinking-done", durationMs: Math.round(performance.now() - this.#thinkingSince) });
        this.#thinkingSince = 0;
        break;
      case "tool-call":
        this.#open.add(event.id);
        this.#channel.push(event);
        clearTimeout(this.#quiet);
        this.#quiet = setTimeout(() => this.#channel.push({ type: "done", reason: "tool-calls" }), QUIET_MS);
        break;
      default:
        event satisfies never;
    }
  }

  #onDone(error: ExcursorError | undefined): void {
    if (error) {
      this.#channel.fail(explain(error));
      return;
    }
    this.#channel.push({ type: "done", reason: this.#open.size > 0 ? "tool-calls" : "stop" });
    this.#channel.end();
  }
}

function explain(error: ExcursorError): ExcursorError {
  if (error.kind !== "deprecated") return error;
  return error.with({
    message: "The backend no longer supports this older protocol.",
    hint: "Set driver to cursor in the settings.",
  });
}
