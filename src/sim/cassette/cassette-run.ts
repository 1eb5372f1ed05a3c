import { createHash } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import type { CassetteCall, CassetteMessage } from "../../replay/cassette.ts";
import { IdMap } from "../../replay/id-map.ts";
import { isSameMeaning, meaningOf, showMeaning } from "../../replay/meaning.ts";
import { methodOf } from "../../wire/agent/frame-kind.ts";
import { SERVER_HEARTBEAT } from "../../wire/agent/heartbeat.ts";
import type { Uplink } from "../../wire/agent/rendezvous.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { encodeFrame, FLAG_END } from "../../wire/connect/envelope.ts";
import type { FrameWriter } from "../frame-writer.ts";
import type { SimOptions } from "../options.ts";
import { failureFrom } from "../rpc.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import { isIgnored } from "./ignored-messages.ts";

const HEARTBEAT = toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message: SERVER_HEARTBEAT }));

/**
 * Plays one recorded stream. Sends what was received, as soon as the client has sent what the recorded client had sent
 * by then. Messages of the client may come in another order.
 */
export class CassetteRun implements Uplink<ConnectFailure> {
  readonly #player: CassettePlayer;
  readonly #path: string;
  readonly #out: FrameWriter;
  readonly #options: SimOptions;
  readonly #ids: IdMap;
  #call: CassetteCall | undefined;
  /** What the client still has to send. */
  #due: CassetteMessage[] = [];
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
    this.#ids = new IdMap(player.cassette.blobs);
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
      this.#call ??= this.#begin(this.#player.findStream(this.#path, meaning));
      const index = this.#due.findIndex((expected) => isSameMeaning(expected.meaning, meaning));
      const expected = this.#due[index];
      if (!expected) throw this.#player.leave(this.#path, this.#unexpected(showMeaning(meaning)));
      this.#due.splice(index, 1);
      this.#ids.learn(expected.bytes, payload);
    } catch (error) {
      this.stop(failureFrom(error));
      return;
    }
    void this.#play(this.#call);
  }

  stop(failure: ConnectFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#out.end(failure);
  }

  #begin(call: CassetteCall): CassetteCall {
    this.#due = call.messages.filter(({ direction, meaning }) => direction === "sent" && !isIgnored(meaning));
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
    if (this.#next === call.messages.length && !this.#isOver) this.#cut(call);
  }

  #end({ response }: CassetteCall, { isEnd, bytes }: CassetteMessage): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    const { exchange } = this.#out;
    if (isEnd) {
      this.#out.open();
      exchange.end(encodeFrame(bytes, FLAG_END));
    } else
      exchange.respond(response?.status ?? 502, bytes, {
        "content-type": response?.headers["content-type"] ?? "application/json",
      });
  }

  /** The recording ends here without an end frame. */
  #cut({ outcome }: CassetteCall): void {
    this.#out.open();
    if (outcome !== "aborted") {
      this.#isOver = true;
      clearInterval(this.#timer);
      this.#out.exchange.truncate();
      return;
    }
    const failure = new ConnectFailure("aborted", "The recording ends here: its client closed the stream.");
    const timer = setTimeout(() => this.stop(failure), this.#options.answerTimeoutMs).unref();
    this.#out.exchange.onOver(() => clearTimeout(timer));
  }

  /** Returns the message with the client's ids. A blob whose content changes gets another id. */
  #mapped({ meaning, bytes }: CassetteMessage): Uint8Array {
    if (meaning.kind === "kv_server_message.set_blob_args") {
      const { message } = fromBinary(AgentServerMessageSchema, bytes);
      const kv = message.case === "kvServerMessage" ? message.value.message : undefined;
      if (kv?.case === "setBlobArgs") {
        const { blobId, blobData } = kv.value;
        const mapped = this.#ids.apply(blobData);
        if (mapped !== blobData) this.#ids.addBlob(blobId, createHash("sha256").update(mapped).digest());
      }
    }
    return this.#ids.apply(bytes);
  }
}
