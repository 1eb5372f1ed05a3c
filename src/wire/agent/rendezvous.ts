import { BoundedMap } from "../../core/bounded-map.ts";
import { within } from "../../core/within.ts";
import type { Append } from "./bidi-append.ts";

/** Receives the uploads of one run, in order. */
export interface Uplink<Failure> {
  receive(payload: Uint8Array): void;
  /** Ends the run because of an invalid upload. */
  stop(failure: Failure): void;
}

const MAX_WAITING = 1000;
const MAX_BUFFERED_BYTES = 64 << 20;
/** Of all runs together. */
const MAX_WAITING_BYTES = 256 << 20;
const MAX_REMEMBERED = 10_000;

interface Room<Failure> {
  nextSeqno: bigint;
  readonly early: Map<bigint, Uint8Array>;
  readonly queue: Uint8Array[];
  bufferedBytes: number;
  failure: Failure | undefined;
  uplink: Uplink<Failure> | undefined;
  onFirst: (() => void) | undefined;
}

/**
 * Joins the two halves of a run over HTTP/1.1 by their request id: the download (`RunSSE`) and the uploads
 * (`BidiAppend`). They arrive on different sockets in any order. Uploads are sorted by their number.
 */
export class Rendezvous<Failure> {
  /** Uploads whose download never came are dropped first. */
  readonly #rooms = new BoundedMap<string, Room<Failure>>(MAX_WAITING, {
    isBusy: ({ uplink }) => uplink !== undefined,
    onEvicted: (room) => this.#take(room, -room.bufferedBytes),
  });
  #waitingBytes = 0;
  readonly #over = new BoundedMap<string, true>(MAX_REMEMBERED);

  /** Takes one upload. Returns false if too many bytes are waiting. */
  append({ requestId, seqno, payload }: Append): boolean {
    if (this.#over.has(requestId)) return true;
    const room = this.#room(requestId);
    // A retry of an upload that was taken.
    if (seqno < room.nextSeqno || room.early.has(seqno)) return true;
    if (room.bufferedBytes + payload.length > MAX_BUFFERED_BYTES) return false;
    if (this.#waitingBytes + payload.length > MAX_WAITING_BYTES) return false;
    room.early.set(seqno, payload);
    this.#take(room, payload.length);
    for (;;) {
      const next = room.early.get(room.nextSeqno);
      if (!next) return true;
      room.early.delete(room.nextSeqno);
      room.nextSeqno += 1n;
      if (room.uplink) {
        this.#take(room, -next.length);
        room.uplink.receive(next);
      } else {
        room.queue.push(next);
        room.onFirst?.();
      }
    }
  }

  hasFirst(requestId: string): boolean {
    return (this.#rooms.get(requestId)?.queue.length ?? 0) > 0;
  }

  fail(requestId: string, failure: Failure): void {
    if (this.#over.has(requestId)) return;
    const room = this.#room(requestId);
    room.failure = failure;
    room.uplink?.stop(failure);
  }

  /**
   * Waits for the first upload, so that the run can still fail with its own status. The wait is short: some clients
   * upload only after the headers of the download.
   */
  async waitForFirst(requestId: string, patienceMs: number): Promise<void> {
    this.#over.delete(requestId);
    const room = this.#room(requestId);
    if (room.queue.length > 0 || room.failure) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    room.onFirst = resolve;
    await within(promise, patienceMs);
    room.onFirst = undefined;
  }

  /** Hands over every upload so far, and every later one until {@link leave}. */
  join(requestId: string, uplink: Uplink<Failure>): void {
    const room = this.#room(requestId);
    room.uplink = uplink;
    for (const payload of room.queue.splice(0)) {
      this.#take(room, -payload.length);
      uplink.receive(payload);
    }
    if (room.failure) uplink.stop(room.failure);
  }

  /** Ends the run. Later uploads are accepted and dropped. */
  leave(requestId: string): void {
    this.forget(requestId);
    this.#over.set(requestId, true);
  }

  /** Drops what is known of a run. */
  forget(requestId: string): void {
    const room = this.#rooms.get(requestId);
    if (room) this.#take(room, -room.bufferedBytes);
    this.#rooms.delete(requestId);
  }

  #take(room: Room<Failure>, bytes: number): void {
    room.bufferedBytes += bytes;
    this.#waitingBytes += bytes;
  }

  #room(requestId: string): Room<Failure> {
    const known = this.#rooms.get(requestId);
    if (known) return known;
    const room: Room<Failure> = {
      nextSeqno: 0n,
      early: new Map(),
      queue: [],
      bufferedBytes: 0,
      failure: undefined,
      uplink: undefined,
      onFirst: undefined,
    };
    this.#rooms.set(requestId, room);
    return room;
  }
}
