import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import type { CassetteCall, CassetteMessage } from "../../replay/cassette.ts";
import { IdMap } from "../../replay/id-map.ts";
import { isSameMapped, type Meaning, meaningOf, showMeaning } from "../../replay/meaning.ts";
import { methodOf } from "../../wire/agent/frame-kind.ts";
import { SERVER_HEARTBEAT } from "../../wire/agent/heartbeat.ts";
import type { Uplink } from "../../wire/agent/rendezvous.ts";
import { blobIdOf } from "../../wire/agent/state/blobs.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { encodeFrame, FLAG_END } from "../../wire/connect/envelope.ts";
import type { FrameWriter } from "../frame-writer.ts";
import type { SimOptions } from "../options.ts";
import { failureFrom } from "../rpc.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import { isConfirmation, isIgnored } from "./ignored-messages.ts";
import { isShellPiece, matchPieces } from "./shell-pieces.ts";

const HEARTBEAT = toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message: SERVER_HEARTBEAT }));

const PART_OF_A_FRAME = encodeFrame(Buffer.alloc(2)).subarray(0, -1);

/**
 * Plays one recorded stream. Sends what was received, as soon as the client has sent what the recorded client had sent
 * by then. Messages of the client may come in another order.
 */
export class CassetteRun implements Uplink<ConnectFailure> {
  readonly #player: CassettePlayer;
  readonly #path: string;
  readonly #out: FrameWriter;
  readonly #options: SimOptions;
  readonly #ids = new IdMap();
  #call: CassetteCall | undefined;
  /** What the client still has to send. */
  #due: CassetteMessage[] = [];
  /** What the client has sent of the next piece of a shell's output. */
  #shellText = "";
  /** The position in the recording. */
  #next = 0;
  #isPlaying = false;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(player: CassettePlayer, path: string, out: FrameWriter, options: SimOptions) {
    this.#player = player;
    this.#path = path;
    this.#out = out;
    this.#options = options;
    out.exchange.onOver((wasCut) => {
      clearInterval(this.#timer);
      const [waiting] = this.#due;
      if (wasCut && !this.#isOver && waiting && this.#call?.outcome !== "aborted")
        player.leave(path, `it closed the stream instead of sending ${showMeaning(waiting.meaning)}`);
      this.#isOver = true;
    });
  }

  receive(payload: Uint8Array): void {
    if (this.#isOver) return;
    const meaning = meaningOf(methodOf(this.#path)?.input, payload);
    if (isIgnored(meaning)) return;
    try {
      this.#call ??= this.#begin(this.#player.findStream(this.#path, meaning, payload), payload);
      if (!this.#takeWhole(meaning, payload) && !this.#takePiece(meaning)) {
        if (isConfirmation(meaning)) return;
        throw this.#player.leave(this.#path, this.#unexpected(showMeaning(meaning)));
      }
    } catch (error) {
      this.stop(failureFrom(error));
      return;
    }
    void this.#play(this.#call);
  }

  #takeWhole(meaning: Meaning, payload: Uint8Array): boolean {
    if (this.#shellText !== "" && isShellPiece(meaning)) return false;
    const index = this.#due.findIndex((expected) => isSameMapped(expected.meaning, meaning, this.#ids));
    const expected = this.#due[index];
    if (!expected) return false;
    this.#due.splice(index, 1);
    this.#ids.learn(expected.bytes, payload);
    return true;
  }

  #takePiece(meaning: Meaning): boolean {
    if (!isShellPiece(meaning)) return false;
    const due = this.#due.filter((message) => isShellPiece(message.meaning));
    const recorded = due.map((message) => this.#ids.applyText(message.meaning.texts.join("")));
    const said = matchPieces(recorded, this.#shellText + meaning.texts.join(""));
    if (!said) return false;
    this.#shellText = said.rest;
    const taken = new Set(due.slice(0, said.count));
    this.#due = this.#due.filter((message) => !taken.has(message));
    return true;
  }

  stop(failure: ConnectFailure): void {
    if (this.#isOver) return;
    this.#settle();
    this.#out.end(failure);
  }

  #begin(call: CassetteCall, first: Uint8Array): CassetteCall {
    this.#due = call.messages.filter(({ direction, meaning }) => direction === "sent" && !isIgnored(meaning));
    const [expected] = this.#due;
    if (expected) this.#ids.learn(expected.bytes, first);
    const isRun = call.method?.output.typeName === AgentServerMessageSchema.typeName;
    // The recorded heartbeats are played at once, so a slow client needs others.
    if (isRun) this.#timer = setInterval(() => this.#out.send(HEARTBEAT), this.#options.heartbeatMs).unref();
    return call;
  }

  #unexpected(meaning: string): string {
    const [next] = this.#due;
    return `it sent ${meaning} where the recorded client ${next ? `sent ${showMeaning(next.meaning)}` : "sent nothing more"}`;
  }

  async #play(call: CassetteCall): Promise<void> {
    if (this.#isPlaying) return;
    this.#isPlaying = true;
    for (; this.#next < call.messages.length && !this.#isOver; this.#next++) {
      const message = call.messages[this.#next];
      if (!message) break;
      if (message.direction === "sent") {
        if (this.#due.includes(message)) break;
        continue;
      }
      if (message.isEnd || message.form !== "frame") return this.#end(call, message);
      this.#out.open();
      if (!this.#out.send(this.#mapped(message))) await this.#out.exchange.drained();
    }
    this.#isPlaying = false;
    if (this.#next === call.messages.length && !this.#isOver) await this.#cut(call);
  }

  #end({ response }: CassetteCall, { isEnd, bytes }: CassetteMessage): void {
    if (!isEnd) {
      this.#refuse(response, bytes);
      return;
    }
    this.#settle();
    this.#out.open();
    this.#out.exchange.end(encodeFrame(bytes, FLAG_END));
  }

  /** Answers with an error of HTTP. */
  #refuse(response: CassetteCall["response"], body: Uint8Array): void {
    this.#settle();
    this.#out.exchange.respond(response?.status ?? 502, body, {
      "content-type": response?.headers["content-type"] ?? "application/json",
    });
  }

  #settle(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }

  /** The recording ends here without an end frame: in the way in which the backend broke off, or in the client's hands. */
  async #cut({ response, outcome, cut }: CassetteCall): Promise<void> {
    const { exchange } = this.#out;
    // A client may close the stream when it has seen the status.
    if (response && response.status !== 200) return this.#refuse(response, Buffer.alloc(0));
    this.#out.open();
    if (outcome === "aborted") {
      const failure = new ConnectFailure("aborted", "The recording ends here: its client closed the stream.");
      const timer = setTimeout(() => this.stop(failure), this.#options.answerTimeoutMs).unref();
      exchange.onOver(() => clearTimeout(timer));
      return;
    }
    this.#settle();
    if (cut.isInFrame) exchange.write(PART_OF_A_FRAME);
    // A reset would overtake what is still on its way.
    await exchange.delivered();
    if (cut.http2Code !== undefined) exchange.reset(cut.http2Code);
    else if (cut.isTcpReset) exchange.resetConnection();
    else exchange.truncate();
  }

  /** Returns the message with the client's ids. A blob whose content is not the recorded one gets another id. */
  #mapped({ meaning, bytes }: CassetteMessage): Uint8Array {
    if (meaning.kind === "kv_server_message.set_blob_args") {
      const { message } = fromBinary(AgentServerMessageSchema, bytes);
      const kv = message.case === "kvServerMessage" ? message.value.message : undefined;
      if (kv?.case === "setBlobArgs") {
        const { blobId, blobData } = kv.value;
        this.#ids.addBlob(blobId, blobIdOf(this.#ids.apply(blobData)));
      }
    }
    return this.#ids.apply(bytes);
  }
}
