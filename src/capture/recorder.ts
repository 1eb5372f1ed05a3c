import type { DescMessage } from "@bufbuild/protobuf";
import { isSecretName } from "../core/access/secret-scanner.ts";
import { methodAt } from "./call-schema.ts";
import type { CaptureWriter } from "./capture-writer.ts";
import { learnHeaders, maskHeaders } from "./mask/mask-headers.ts";
import { Masker } from "./mask/masker.ts";
import { MessageTexts } from "./mask/message-texts.ts";
import { createPreciseClock } from "./precise-clock.ts";
import { measureFrames } from "./record-format.ts";
import type { CallEnd, CallHead, CapturedMessage, CaptureNote, CaptureRecord, ResponseInfo } from "./records.ts";
import { RunConversations } from "./run-conversations.ts";

export interface RecorderOptions {
  /** Known beforehand: keys of the gateway, tokens. They are never written. */
  readonly secrets?: readonly string[];
  readonly now?: () => number;
}

/** What a capture has so far. */
export interface CaptureCounts {
  readonly calls: number;
  readonly messages: number;
  readonly conversations: number;
}

/** Frames of one call that came one after the other. They are one record: there may be millions. */
interface Batch {
  readonly call: number;
  readonly at: number;
  readonly direction: CapturedMessage["direction"];
  readonly chunks: Uint8Array[];
  bytes: number;
}

/** Frames wait this long for more. */
const BATCH_MS = 5;
/** A damaged record is a small loss. */
const MAX_BATCH_BYTES = 64 * 1024;

/**
 * Records calls into a capture. Only credentials in headers, and secrets that are known by their value, are masked here:
 * {@link MaskedCapture} masks what looks like one, when the texts are complete.
 */
export class CaptureRecorder {
  readonly #writer: CaptureWriter;
  readonly #masker: Masker;
  readonly #texts = new MessageTexts();
  readonly #now: () => number;
  readonly #conversations = new RunConversations();
  /** By call. */
  readonly #batches = new Map<number, Batch>();
  #timer: NodeJS.Timeout | undefined;
  #calls = 0;
  #messageCount = 0;

  constructor(writer: CaptureWriter, { secrets = [], now = createPreciseClock() }: RecorderOptions = {}) {
    this.#writer = writer;
    this.#now = now;
    this.#masker = new Masker(secrets);
  }

  get counts(): CaptureCounts {
    return { calls: this.#calls, messages: this.#messageCount, conversations: this.#conversations.count };
  }

  call(head: CallHead): CallRecording {
    const call = ++this.#calls;
    const place = () => ({ call, at: this.#now() });
    const add = (record: Unplaced<CaptureRecord>) => {
      this.#flush();
      this.#writer.write({ ...record, ...place() } as CaptureRecord);
    };
    learnHeaders(head.headers, this.#masker);
    for (const [name, value] of new URLSearchParams(head.path.split("?")[1])) {
      if (isSecretName(name)) this.#masker.add(value);
    }
    const [origin, path, headers] = [this.#text(head.origin), this.#text(head.path), this.#headers(head.headers)];
    add({ type: "call", head: { ...head, origin, path, headers } });
    const schema = methodAt(head.path)?.input;
    let hasConversation = false;
    const tellConversation = (id: string) => {
      if (hasConversation) return;
      hasConversation = true;
      add({ type: "note", note: { type: "conversation", id } });
    };
    return {
      response: ({ status, headers: answered }) => {
        learnHeaders(answered, this.#masker);
        add({ type: "response", head: { status, headers: this.#headers(answered) } });
      },
      message: (message) => {
        this.#messageCount++;
        if (message.direction === "sent" && schema && !hasConversation) {
          this.#conversations.join(this.#idsIn(message, schema), tellConversation);
        }
        add({ type: "message", ...message, bytes: this.#masked(message.bytes) });
      },
      frames: (direction, bytes) => {
        let batch = this.#batches.get(call);
        if (batch && (batch.bytes > MAX_BATCH_BYTES || batch.direction !== direction)) this.#flush();
        batch = this.#batches.get(call) ?? { ...place(), direction, chunks: [], bytes: 0 };
        this.#timer ??= setTimeout(() => this.#onTimer(), BATCH_MS).unref();
        this.#batches.set(call, batch);
        batch.chunks.push(bytes);
        batch.bytes += bytes.length;
      },
      note: (note) => add({ type: "note", note }),
      end: (end) => add({ type: "end", end: { ...end, trailers: end.trailers && this.#headers(end.trailers) } }),
    };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#flush();
    this.#writer.close();
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#flush();
  }

  /** Called before any other record, so that the times of all calls are in order. */
  #flush(): void {
    for (const { call, at, direction, chunks } of this.#batches.values()) {
      const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      const { count, longest } = measureFrames(whole);
      this.#messageCount += count;
      // Pieces of text are often too short for a secret.
      const bytes = longest < this.#masker.shortest ? whole : this.#masked(whole);
      this.#writer.write({ type: "frames", call, at, direction, bytes });
    }
    this.#batches.clear();
  }

  /** Over HTTP/1.1 a request id says which run a message belongs to. */
  #idsIn(message: CapturedMessage, schema: DescMessage) {
    let conversationId: string | undefined;
    let requestId: string | undefined;
    this.#texts.edit(message, schema, ({ bytes, name, owner }) => {
      if (name === "conversation_id") conversationId ??= bytes.toString("utf8");
      if (name === "request_id" && owner === "aiserver.v1.BidiRequestId") requestId ??= bytes.toString("utf8");
    });
    return { conversationId, requestId };
  }

  /** Bytes in a form that hides a secret, such as a compressed body, are not searched. */
  #masked(bytes: Uint8Array): Uint8Array {
    return this.#masker.withoutKnown(bytes);
  }

  readonly #text = (text: string): string => Buffer.from(this.#masked(Buffer.from(text))).toString("utf8");

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return maskHeaders(headers, this.#masker, this.#text);
  }
}

type Unplaced<Record> = Record extends unknown ? Omit<Record, "call" | "at"> : never;

/** Records one call. */
export interface CallRecording {
  response(head: ResponseInfo): void;
  message(message: CapturedMessage): void;
  /** Records whole frames that came together: messages, each in its envelope, uncompressed. The bytes must not change. */
  frames(direction: CapturedMessage["direction"], bytes: Uint8Array): void;
  note(note: CaptureNote): void;
  end(end: CallEnd): void;
}
