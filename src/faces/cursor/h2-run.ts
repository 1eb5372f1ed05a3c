import { randomUUID } from "node:crypto";
import { ExcursorError } from "../../core/errors.ts";
import { JSON_RUN } from "../../wire/agent/json-run.ts";
import { FLAG_COMPRESSED, FrameDecoder } from "../../wire/connect/envelope.ts";
import { streamFormat } from "../../wire/connect/frame-writer.ts";
import { gunzip, gunzipNow, MAX_SYNC_BYTES } from "../../wire/connect/gzip.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { type RunOpening, readOpening } from "./find-model.ts";
import type { Held } from "./relay.ts";

/** The largest message of a client that is read here. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** A stream that names no model in so many messages is passed on. */
const MAX_MESSAGES = 10;

/** A stream whose client says nothing for so long is passed on: the backend knows what to do with it. */
const FIRST_MESSAGE_MS = 30_000;

export interface HeldRun {
  readonly held: Held;
  /** Undefined if it cannot be read here. */
  readonly opening: RunOpening | undefined;
}

/** Returns what reads a message of this run as protobuf. */
const decoderOf = (exchange: ServerExchange): ((payload: Uint8Array) => Uint8Array) =>
  streamFormat(exchange.header("content-type")) === "connect-json" ? JSON_RUN.decode : (payload) => payload;

/** Holds the beginning of a bidirectional run, up to the message that names its model. Undefined if the client is gone. */
export function holdRun(exchange: ServerExchange): Promise<HeldRun | undefined> {
  const { request } = exchange;
  const decode = decoderOf(exchange);
  const chunks: Buffer[] = [];
  const decoder = new FrameDecoder({ maxFrameBytes: MAX_MESSAGE_BYTES });
  return new Promise((resolve) => {
    let isSettled = false;
    let [bytes, messages] = [0, 0];
    const settle = (run: HeldRun | undefined) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).pause();
      resolve(run);
    };
    const found = (opening: RunOpening | undefined, isWhole = false) => settle({ held: { chunks, isWhole }, opening });
    const look = (payload: Uint8Array) => {
      const opening = readOpening(decode(payload));
      if (opening.type === "run") found(opening);
      else if (++messages === MAX_MESSAGES) found(undefined);
    };
    const onFrame = (flags: number, payload: Uint8Array) => {
      if (isSettled) return;
      if ((flags & FLAG_COMPRESSED) === 0) look(payload);
      else if (!exchange.hold(MAX_MESSAGE_BYTES)) found(undefined);
      else {
        request.pause();
        gunzip(payload, MAX_MESSAGE_BYTES)
          .finally(() => exchange.release(MAX_MESSAGE_BYTES))
          .then(look)
          .then(
            () => isSettled || request.resume(),
            () => found(undefined),
          );
      }
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      try {
        if (bytes > MAX_MESSAGE_BYTES || !exchange.hold(chunk.length)) found(undefined);
        else decoder.push(chunk, onFrame);
      } catch {
        // What cannot be read here is the backend's to refuse.
        found(undefined);
      }
    };
    const onEnd = () => found(undefined, true);
    const timer = setTimeout(() => found(undefined), FIRST_MESSAGE_MS).unref();
    request.on("data", onData).on("end", onEnd);
    exchange.onOver(() => settle(undefined));
  });
}

/** Delivers the messages of a bidirectional run, those that were held first. `onBroken` ends the run. */
export function deliverMessages(
  exchange: ServerExchange,
  { chunks }: Held,
  onMessage: (payload: Uint8Array) => void,
  onBroken: (error: ExcursorError) => void,
): void {
  const { request } = exchange;
  const decode = decoderOf(exchange);
  const receive = (payload: Uint8Array) => onMessage(decode(payload));
  const decoder = new FrameDecoder({ maxFrameBytes: MAX_MESSAGE_BYTES });
  let last = Promise.resolve();
  let inflating = 0;
  const inOrder = (inflate: () => Uint8Array | Promise<Uint8Array>) => {
    inflating++;
    request.pause();
    last = last
      .then(inflate)
      .then(receive)
      .catch(broken)
      .then(() => {
        if (--inflating === 0) request.resume();
      });
  };
  const onFrame = (flags: number, payload: Uint8Array) => {
    const isCompressed = (flags & FLAG_COMPRESSED) !== 0;
    if (isCompressed && (inflating > 0 || payload.length > MAX_SYNC_BYTES)) {
      inOrder(() => gunzip(payload, MAX_MESSAGE_BYTES));
    } else if (inflating > 0) inOrder(() => payload);
    else receive(isCompressed ? gunzipNow(payload, MAX_MESSAGE_BYTES) : payload);
  };
  const onData = (chunk: Uint8Array) => {
    try {
      decoder.push(chunk, onFrame);
    } catch (error) {
      broken(error);
    }
  };
  const broken = (thrown: unknown) => {
    request.off("data", onData).resume();
    const error = ExcursorError.from(thrown);
    onBroken(new ExcursorError("invalid-request", error.message, { cause: error }));
  };
  for (const chunk of chunks) onData(chunk);
  exchange.release();
  request.on("data", onData);
  request.resume();
}

export const requestIdOf = (exchange: ServerExchange): string => exchange.header("x-request-id") || randomUUID();
