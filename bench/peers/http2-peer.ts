import type { Socket } from "node:net";
import { findPlan, NUMBER_DIGITS, nowUs, type Plan, TIME_DIGITS, writeNumber } from "./plan.ts";
import { CALL_FRAMES } from "./tool-call.ts";

const FRAME_HEADER_BYTES = 9;
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const PREFACE_BYTES = 24;
const SETTING_INITIAL_WINDOW = 4;
const LARGE_WINDOW = 0x3fff_ffff;

/** `:status 200`, and the content type without indexing. */
const RESPONSE_HEADERS = Buffer.concat([
  Buffer.from([0x88, 0x0f, 0x10, "application/connect+proto".length]),
  Buffer.from("application/connect+proto"),
]);
/** `AgentServerMessage { interaction_update { turn_ended {} } }` in its envelope. */
const TURN_ENDED = Buffer.from([0, 0, 0, 0, 4, 0x0a, 0x02, 0x72, 0x00]);
/** `AgentClientMessage { conversation_action { cancel_action {} } }` in its envelope. */
const CANCEL = Buffer.from([0, 0, 0, 0, 4, 0x22, 0x02, 0x1a, 0x00]);
const STREAM_END = Buffer.concat([Buffer.from([2, 0, 0, 0, 2]), Buffer.from("{}")]);

const BUFFER_BYTES = 64 * 1024;
/** The most bytes that one step writes for a stream, in the buffer and in its window. */
const LARGEST_STEP = 128;

interface Answer {
  readonly streamId: number;
  window: number;
  /** The request so far, until its plan has arrived. */
  request: Buffer;
  plan: Required<Plan> | undefined;
  startUs: number;
  hasHead: boolean;
  isWaiting: boolean;
  isCancelled: boolean;
  sent: number;
}

/**
 * The server side of one HTTP/2 connection, reduced to what the bench needs. Node's own would put several messages into
 * one DATA frame, and would cost as much as what is measured. All streams take turns, token by token, and share one
 * write.
 */
export class Http2Peer {
  readonly #socket: Socket;
  readonly #resets: Record<number, number>;
  readonly #answers = new Map<number, Answer>();
  readonly #out = Buffer.allocUnsafe(BUFFER_BYTES);
  #size = 0;
  #isWriting = false;
  #received: Buffer = Buffer.alloc(0);
  #hasPreface = false;
  #window = 65_535;
  #initialWindow = 65_535;
  #bodyBytes = 0;

  /** `resets` receives the time at which each stream was cancelled or reset, or its connection closed. */
  constructor(socket: Socket, resets: Record<number, number>) {
    this.#socket = socket;
    this.#resets = resets;
    socket.on("data", (chunk) => this.receive(chunk));
    socket.on("close", () => {
      for (const answer of this.#answers.values()) this.#noteReset(answer);
    });
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(SETTING_INITIAL_WINDOW, 0);
    settings.writeUInt32BE(LARGE_WINDOW, 2);
    this.#control(TYPE.settings, 0, 0, settings);
    this.#control(TYPE.windowUpdate, 0, 0, uint32(LARGE_WINDOW));
  }

  /** Returns how many tokens each open stream has been sent. */
  sent(): Record<number, number> {
    return Object.fromEntries(Array.from(this.#answers.values(), ({ plan, sent }) => [plan?.id ?? 0, sent]));
  }

  receive(chunk: Buffer): void {
    const bytes = this.#received.length > 0 ? Buffer.concat([this.#received, chunk]) : chunk;
    let at = 0;
    if (!this.#hasPreface) {
      if (bytes.length < PREFACE_BYTES) {
        this.#received = bytes;
        return;
      }
      this.#hasPreface = true;
      at = PREFACE_BYTES;
    }
    while (at + FRAME_HEADER_BYTES <= bytes.length) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
      this.#onFrame(type, flags, bytes.readUInt32BE(at + 5), bytes.subarray(at + FRAME_HEADER_BYTES, end));
      at = end;
    }
    this.#received = Buffer.from(bytes.subarray(at));
    this.pump();
  }

  pump(): void {
    if (this.#isWriting || this.#socket.destroyed) return;
    this.#fill();
    if (this.#size === 0) return;
    this.#isWriting = true;
    this.#socket.write(this.#out.subarray(0, this.#size), () => {
      this.#isWriting = false;
      this.pump();
    });
    this.#size = 0;
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    const answer = this.#answers.get(streamId);
    if (type === TYPE.headers && !answer) {
      const [window, request] = [this.#initialWindow, Buffer.alloc(0)];
      const state = { plan: undefined, startUs: 0, hasHead: false, isWaiting: false, isCancelled: false, sent: 0 };
      this.#answers.set(streamId, { streamId, window, request, ...state });
    } else if (type === TYPE.data) {
      this.#renewWindow(payload.length);
      if (answer && payload.length <= LARGEST_STEP && payload.includes(CANCEL)) {
        this.#noteReset(answer);
        answer.isCancelled = true;
      } else if (answer && !answer.plan) {
        readPlan(answer, payload);
        this.#release();
      }
    } else if (type === TYPE.reset && answer) {
      this.#noteReset(answer);
      this.#answers.delete(streamId);
    } else if (type === TYPE.settings && flags !== ACK) {
      this.#applySettings(payload);
    } else if (type === TYPE.ping && flags !== ACK) {
      this.#control(TYPE.ping, ACK, 0, payload);
    } else if (type === TYPE.windowUpdate) {
      if (streamId === 0) this.#window += payload.readUInt32BE(0);
      else if (answer) answer.window += payload.readUInt32BE(0);
    }
  }

  #noteReset({ plan }: Answer): void {
    if (plan) this.#resets[plan.id] ??= nowUs();
  }

  /** Releases streams that wait for each other, once there are enough. */
  #release(): void {
    const waiting = Array.from(this.#answers.values()).filter(({ isWaiting }) => isWaiting);
    if (waiting.length < (waiting[0]?.plan?.together ?? 0)) return;
    for (const answer of waiting) {
      answer.isWaiting = false;
      if (answer.plan) answer.startUs = startOf(answer.plan);
    }
  }

  #applySettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== SETTING_INITIAL_WINDOW) continue;
      const window = payload.readUInt32BE(at + 2);
      for (const answer of this.#answers.values()) answer.window += window - this.#initialWindow;
      this.#initialWindow = window;
    }
    this.#control(TYPE.settings, ACK, 0, Buffer.alloc(0));
  }

  #renewWindow(bytes: number): void {
    this.#bodyBytes += bytes;
    if (this.#bodyBytes < LARGE_WINDOW / 2) return;
    this.#control(TYPE.windowUpdate, 0, 0, uint32(this.#bodyBytes));
    this.#bodyBytes = 0;
  }

  #fill(): void {
    const now = nowUs();
    for (let hasMoved = true; hasMoved; ) {
      hasMoved = false;
      for (const answer of this.#answers.values()) {
        if (this.#size + LARGEST_STEP > BUFFER_BYTES || this.#window < LARGEST_STEP) return;
        if (answer.window >= LARGEST_STEP && this.#step(answer, now)) hasMoved = true;
      }
    }
  }

  /** Writes the next part of a stream, if it is due. */
  #step(answer: Answer, now: number): boolean {
    const { plan } = answer;
    if (!plan && !answer.isCancelled) return false;
    if (!answer.hasHead) {
      answer.hasHead = true;
      this.#frame(TYPE.headers, END_HEADERS, answer, RESPONSE_HEADERS);
    }
    if (!plan || answer.isCancelled) return this.#end(answer);
    if (answer.isWaiting && answer.sent > 0) return false;
    if (answer.sent < plan.tokens) {
      if (plan.rate > 0 && ((now - answer.startUs) * plan.rate) / 1e6 < answer.sent) return false;
      this.#token(answer, plan.rate > 0 ? now : undefined);
      return true;
    }
    if (plan.isHeld) return false;
    if (plan.isCall) {
      for (const frame of CALL_FRAMES) this.#frame(TYPE.data, 0, answer, frame);
      answer.plan = undefined;
      answer.sent = 0;
      return true;
    }
    return this.#end(answer);
  }

  #end(answer: Answer): true {
    this.#frame(TYPE.data, 0, answer, TURN_ENDED);
    this.#frame(TYPE.data, END_STREAM, answer, STREAM_END);
    this.#answers.delete(answer.streamId);
    return true;
  }

  #token(answer: Answer, now: number | undefined): void {
    const textBytes = NUMBER_DIGITS + (now === undefined ? 0 : TIME_DIGITS);
    const out = this.#out;
    let at = this.#header(TYPE.data, 0, answer.streamId, textBytes + 11);
    out[at++] = 0;
    out.writeUInt32BE(textBytes + 6, at);
    at += 4;
    // Three nested fields, each with number 1.
    for (const inner of [4, 2, 0]) {
      out[at++] = 0x0a;
      out[at++] = textBytes + inner;
    }
    writeNumber(answer.sent++, NUMBER_DIGITS, out, at);
    if (now !== undefined) writeNumber(now, TIME_DIGITS, out, at + NUMBER_DIGITS);
    this.#size = at + textBytes;
    this.#spend(answer, textBytes + 11);
  }

  #frame(type: number, flags: number, answer: Answer, payload: Buffer): void {
    const at = this.#header(type, flags, answer.streamId, payload.length);
    this.#size = at + payload.copy(this.#out, at);
    if (type === TYPE.data) this.#spend(answer, payload.length);
  }

  #spend(answer: Answer, bytes: number): void {
    answer.window -= bytes;
    this.#window -= bytes;
  }

  #header(type: number, flags: number, streamId: number, length: number): number {
    writeHeader(this.#out, this.#size, type, flags, streamId, length);
    return this.#size + FRAME_HEADER_BYTES;
  }

  #control(type: number, flags: number, streamId: number, payload: Buffer): void {
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
    writeHeader(frame, 0, type, flags, streamId, payload.length);
    payload.copy(frame, FRAME_HEADER_BYTES);
    this.#socket.write(frame);
  }
}

function readPlan(answer: Answer, payload: Buffer): void {
  answer.request = Buffer.concat([answer.request, payload]);
  answer.plan = findPlan(answer.request);
  if (!answer.plan) return;
  answer.request = Buffer.alloc(0);
  answer.isWaiting = answer.plan.together > 0;
  answer.startUs = startOf(answer.plan);
}

/**
 * Returns the start of a stream. Paced streams begin at different moments of their period, so that tokens do not arrive
 * all at once.
 */
function startOf({ id, rate }: Required<Plan>): number {
  return nowUs() + (rate > 0 ? ((id * 0.618) % 1) * (1e6 / rate) : 0);
}

function writeHeader(out: Buffer, at: number, type: number, flags: number, streamId: number, length: number): void {
  out.writeUIntBE(length, at, 3);
  out[at + 3] = type;
  out[at + 4] = flags;
  out.writeUInt32BE(streamId, at + 5);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
