import type { StoredRecord } from "../capture-reader.ts";
import type { CallHead, CapturedMessage, CaptureRecord } from "../records.ts";
import { kindOf } from "./message-view.ts";

/** Which calls and messages are wanted. Absent members take all. */
export interface CaptureFilter {
  /** With the other calls of its run, if it is one over HTTP/1.1. */
  readonly call?: number | undefined;
  readonly conversation?: string | undefined;
  /** A part of the path. */
  readonly rpc?: string | undefined;
  readonly direction?: CapturedMessage["direction"] | undefined;
  /** A part of the message's kind. */
  readonly kind?: string | undefined;
}

/** One call, without its messages. */
export interface CallSummary {
  readonly call: number;
  readonly at: number;
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly transport: CallHead["transport"];
  readonly wire: "client" | "upstream";
  readonly requestId?: string | undefined;
  /** Set on the calls of a run over HTTP/1.1, which is one download and many uploads. */
  readonly run?: string | undefined;
  status?: number;
  ms?: number;
  outcome?: string;
  sentBytes?: number;
  receivedBytes?: number;
  /** Those that the filter lets through. */
  messages: number;
  conversation?: string;
  /** What the capture does not have, and why. */
  omitted?: string;
}

/** Paths of the calls of a run over HTTP/1.1: one download and many uploads. */
export const RUN_OVER_HTTP1 = /SSE$|\/BidiAppend$/;
const MAX_TEXTS = 10_000;

/** The headers are read for few calls only. */
function requestIdIn(stored: StoredRecord): string | undefined {
  const record = stored.read();
  return record?.type === "call" ? record.head.headers["x-request-id"] : undefined;
}

/** Gathers the calls of a capture. Reads the content of messages only if the filter needs it. */
export class CallList {
  readonly #filter: CaptureFilter;
  readonly #calls = new Map<number, CallSummary>();
  readonly #needsContent: boolean;
  /** The call of the last message. Messages of one call often follow each other. */
  #last: CallSummary | undefined;
  #lastCall: number | undefined;
  readonly #texts = new Map<string, string>();
  /** Why the capture ended before its time, if it did. */
  endReason: string | undefined;
  damaged = 0;

  constructor(filter: CaptureFilter = {}) {
    this.#filter = filter;
    this.#needsContent = filter.kind !== undefined || filter.direction !== undefined;
  }

  /** Counts one message or `count` ones. True if their content is needed, too: {@link add} them. */
  countMessage(call: number, count: () => number = () => 1): boolean {
    if (this.#needsContent) return true;
    if (this.#lastCall !== call) {
      this.#lastCall = call;
      this.#last = this.#calls.get(call);
    }
    if (this.#last) this.#last.messages += count();
    return false;
  }

  /** Returns the record if it was read, without headers. */
  add(stored: StoredRecord): CaptureRecord | undefined {
    const { type, call } = stored;
    if (type === "message" && !this.countMessage(call)) return undefined;
    // What a call was answered is of no interest if the call is none.
    if ((type === "response" || type === "end") && !this.#calls.has(call)) return undefined;
    const record = stored.read(false);
    if (record) this.#take(record, stored);
    else this.damaged++;
    return record;
  }

  /** How many calls there are, wanted or not. */
  get count(): number {
    return this.#calls.size;
  }

  of(call: number): CallSummary | undefined {
    return this.#calls.get(call);
  }

  isWanted(message: CapturedMessage, path: string): boolean {
    const { direction, kind } = this.#filter;
    return (
      (direction === undefined || message.direction === direction) &&
      (kind === undefined || kindOf(message, path).includes(kind))
    );
  }

  /** The calls that the filter lets through. */
  wanted(): CallSummary[] {
    return [...this.#calls.values()].filter((call) => this.isWantedCall(call));
  }

  isWantedCall(summary: CallSummary): boolean {
    const { call, conversation, rpc, direction, kind } = this.#filter;
    return (
      (call === undefined || summary.call === call || this.#isOfRun(summary, call)) &&
      (conversation === undefined || summary.conversation === conversation) &&
      (rpc === undefined || summary.path.toLowerCase().includes(rpc.toLowerCase())) &&
      ((direction === undefined && kind === undefined) || summary.messages > 0)
    );
  }

  #isOfRun({ run }: CallSummary, call: number): boolean {
    return run !== undefined && run === this.#calls.get(call)?.run;
  }

  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size < MAX_TEXTS) this.#texts.set(text, text);
    return text;
  }

  #take(record: CaptureRecord, stored: StoredRecord): void {
    if (record.type === "call") {
      const { head } = record;
      const { transport, wire = "upstream", requestId } = head;
      const { call, at } = record;
      // Each record has its own copy of a text that thousands of calls share.
      const method = this.#shared(head.method);
      const origin = this.#shared(head.origin);
      const path = this.#shared(head.path);
      const run = RUN_OVER_HTTP1.test(path) ? requestIdIn(stored) : undefined;
      if (this.#lastCall === call) this.#lastCall = undefined;
      this.#calls.set(call, { call, at, method, origin, path, transport, wire, requestId, run, messages: 0 });
      return;
    }
    if (record.type === "note" && record.note.type === "ended") this.endReason = record.note.reason;
    const summary = this.#calls.get(record.call);
    if (!summary) return;
    if (record.type === "response") summary.status = record.head.status;
    else if (record.type === "message") summary.messages += this.isWanted(record, summary.path) ? 1 : 0;
    else if (record.type === "end") {
      const { outcome, sentBytes, receivedBytes } = record.end;
      Object.assign(summary, { outcome, sentBytes, receivedBytes, ms: record.at - summary.at });
    } else if (record.note.type === "conversation") this.#setConversation(summary, record.note.id);
    else if (record.note.type === "omitted") summary.omitted = record.note.reason;
  }
  /** Forgets the calls of other conversations than the one that is wanted: a capture may have thousands. */
  #setConversation(summary: CallSummary, id: string): void {
    const { conversation = id } = this.#filter;
    summary.conversation = id;
    if (conversation === id) return;
    this.#calls.delete(summary.call);
    if (this.#lastCall === summary.call) this.#last = undefined;
  }
}
