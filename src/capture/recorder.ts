import type { DescMessage } from "@bufbuild/protobuf";
import { methodAt } from "./call-schema.ts";
import type { CaptureWriter } from "./capture-writer.ts";
import { DeltaFinder } from "./mask/delta-finder.ts";
import { HeldRecords } from "./mask/held-records.ts";
import { Masker } from "./mask/masker.ts";
import { type CapturedContent, MessageMasker } from "./mask/message-masker.ts";
import { isSecretName } from "./mask/secret-shapes.ts";
import { createPreciseClock } from "./precise-clock.ts";
import type { CallEnd, CallHead, CapturedMessage, CaptureNote, CaptureRecord, ResponseInfo } from "./records.ts";
import { RunConversations } from "./run-conversations.ts";

const SECRET_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "proxy-authorization",
  "x-cursor-checksum",
  "x-client-key",
  "x-blob-encryption-key",
  "x-goog-api-key",
]);

/** True if the whole value of a header is a secret. */
export const isSecretHeader = (name: string): boolean => SECRET_HEADERS.has(name) || isSecretName(name);

export interface RecorderOptions {
  /** Known beforehand: keys of the gateway, the path of the home folder. */
  readonly secrets?: readonly string[];
  readonly content?: CapturedContent;
  readonly now?: () => number;
}

/** What a capture has so far. */
export interface CaptureCounts {
  readonly calls: number;
  readonly messages: number;
  readonly conversations: number;
}

/** Records calls into a capture, without their secrets. */
export class CaptureRecorder {
  readonly #writer: CaptureWriter;
  readonly #masker = new Masker();
  readonly #messages: MessageMasker;
  readonly #now: () => number;
  readonly #conversations = new RunConversations();
  readonly #open = new Set<HeldRecords>();
  readonly #content: CapturedContent;
  readonly #finders = new Map<DescMessage, DeltaFinder>();
  /** The time of the deltas in this turn of the event loop, since the last other record of any call. */
  #deltasAt: number | undefined;
  #calls = 0;
  #messageCount = 0;

  constructor(
    writer: CaptureWriter,
    { secrets = [], content = "full", now = createPreciseClock() }: RecorderOptions = {},
  ) {
    this.#writer = writer;
    this.#now = now;
    this.#content = content;
    this.#messages = new MessageMasker(this.#masker, content);
    for (const secret of secrets) this.#masker.add(secret);
  }

  get counts(): CaptureCounts {
    return { calls: this.#calls, messages: this.#messageCount, conversations: this.#conversations.count };
  }

  call(head: CallHead): CallRecording {
    const call = ++this.#calls;
    const records = new HeldRecords(this.#masker, (record) => this.#writer.write(record));
    this.#open.add(records);
    const add = (record: Unplaced<CaptureRecord>, pieces?: Parameters<HeldRecords["add"]>[1]) => {
      this.#deltasAt = undefined;
      records.add({ ...record, call, at: this.#now() } as CaptureRecord, pieces);
    };
    this.#learn(head);
    const { method, origin, path, headers, transport, wire, requestId } = head;
    const masked = {
      method,
      origin: this.#masker.text(origin),
      path: this.#masker.text(path),
      headers: this.#maskHeaders(headers),
      transport,
      ...(wire && { wire }),
      ...(requestId !== undefined && { requestId }),
    };
    add({ type: "call", head: masked });
    const { input, output } = methodAt(path) ?? {};
    const [sentDeltas, receivedDeltas] = [this.#finderOf(input), this.#finderOf(output)];
    const tellConversation = once((id: string) => add({ type: "note", note: { type: "conversation", id } }));
    return {
      response: ({ status, headers: answered }) => {
        this.#learn({ headers: answered });
        add({ type: "response", head: { status, headers: this.#maskHeaders(answered) } });
      },
      message: (message) => {
        this.#messageCount++;
        const isSent = message.direction === "sent";
        const { bytes, pieces, notes, ...ids } = this.#messages.mask(message, isSent ? input : output);
        if (isSent) this.#conversations.join(ids, tellConversation);
        add({ type: "message", ...message, bytes }, pieces);
        for (const note of notes) add({ type: "note", note });
      },
      deltas: (direction, chunk, from) => {
        const finder = direction === "sent" ? sentDeltas : receivedDeltas;
        if (!finder) return from;
        const before = finder.found;
        const end = records.addFrames({ call, at: this.#timeOfDelta(), direction }, chunk, from, finder);
        this.#messageCount += finder.found - before;
        return end;
      },
      note: (note) => add({ type: "note", note }),
      end: (end) => {
        const trailers = end.trailers && this.#maskHeaders(end.trailers);
        add({ type: "end", end: { ...end, trailers } });
        records.flush();
        this.#open.delete(records);
      },
    };
  }

  close(): void {
    for (const records of this.#open) records.flush();
    this.#writer.close();
  }

  #finderOf(schema: DescMessage | undefined): DeltaFinder | undefined {
    if (!schema || this.#content !== "full") return undefined;
    const finder = this.#finders.get(schema) ?? new DeltaFinder(schema);
    this.#finders.set(schema, finder);
    return finder;
  }

  /** Deltas that come together have one time. The order of times is still that of the records of all calls. */
  #timeOfDelta(): number {
    if (this.#deltasAt === undefined) {
      this.#deltasAt = this.#now();
      setImmediate(() => {
        this.#deltasAt = undefined;
      }).unref();
    }
    return this.#deltasAt;
  }

  /** What a header or a query says in secret, a message may repeat. */
  #learn({ headers, path = "" }: { readonly headers: CallHead["headers"]; readonly path?: string }): void {
    for (const [name, value] of Object.entries(headers)) {
      if (!isSecretHeader(name)) continue;
      for (const part of value.split(/[\s;,]+|(?<=\w)=/)) this.#masker.add(part);
    }
    for (const [name, value] of new URLSearchParams(path.split("?")[1])) {
      if (isSecretName(name)) this.#masker.add(value);
    }
  }

  #maskHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const mask = (name: string, value: string) =>
      isSecretHeader(name) ? this.#maskSecret(value) : this.#masker.text(value);
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mask(name, value)]));
  }

  /** Masks every word, however short, but the scheme of an authorization. */
  #maskSecret(value: string): string {
    const [scheme = ""] = /^(?:Bearer|Basic) +/i.exec(value) ?? [];
    return scheme + value.slice(scheme.length).replace(/[^\s;,=]+/g, (word) => this.#masker.word(word));
  }
}

type Unplaced<Record> = Record extends unknown ? Omit<Record, "call" | "at"> : never;

function once<Argument>(action: (argument: Argument) => void): (argument: Argument) => void {
  let isDone = false;
  return (argument) => {
    if (isDone) return;
    isDone = true;
    action(argument);
  };
}

/** Records one call. */
export interface CallRecording {
  response(head: ResponseInfo): void;
  message(message: CapturedMessage): void;
  /**
   * Records the frames at `from` in a chunk, as long as they are whole and only hold pieces of longer texts. Returns where
   * the first other one is, which is for {@link message}.
   */
  deltas(direction: CapturedMessage["direction"], chunk: Uint8Array, from: number): number;
  note(note: CaptureNote): void;
  end(end: CallEnd): void;
}
