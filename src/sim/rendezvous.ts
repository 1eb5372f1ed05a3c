import type { ConnectFailure } from "./connect-failure.ts";

/** Whoever reads the uploads of one run, in order. */
export interface Uplink {
  receive(payload: Uint8Array): void;
  /** What was uploaded makes no sense: the run is over. */
  stop(failure: ConnectFailure): void;
}

const MAX_WAITING = 1000;
const MAX_BUFFERED_BYTES = 64 << 20;
const MAX_REMEMBERED = 10_000;

interface Room {
  nextSeqno: bigint;
  readonly early: Map<bigint, Uint8Array>;
  readonly queue: Uint8Array[];
  bufferedBytes: number;
  failure: ConnectFailure | undefined;
  uplink: Uplink | undefined;
  onFirst: (() => void) | undefined;
}

/**
 * Where `RunSSE` and `BidiAppend` find each other by request id. They race on two sockets, so the room is made by
 * whichever comes first and keeps everything for the other; uploads are put in order by their number.
 */
export class Rendezvous {
  readonly #rooms = new Map<string, Room>();
  readonly #over = new Set<string>();

  /** Takes one upload. False if it had to be refused because too much is waiting. */
  append(requestId: string, seqno: bigint, payload: Uint8Array): boolean {
    if (this.#over.has(requestId)) return true;
    const room = this.#room(requestId);
    // A repeated number is a client that tried again: it has been taken.
    if (seqno < room.nextSeqno || room.early.has(seqno)) return true;
    if (room.bufferedBytes + payload.length > MAX_BUFFERED_BYTES) return false;
    room.early.set(seqno, payload);
    room.bufferedBytes += payload.length;
    for (;;) {
      const next = room.early.get(room.nextSeqno);
      if (!next) return true;
      room.early.delete(room.nextSeqno);
      room.nextSeqno += 1n;
      if (room.uplink) {
        room.bufferedBytes -= next.length;
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

  /** An upload that cannot be taken. */
  fail(requestId: string, failure: ConnectFailure): void {
    if (this.#over.has(requestId)) return;
    const room = this.#room(requestId);
    room.failure = failure;
    room.uplink?.stop(failure);
  }

  /**
   * Waits a moment for the first upload, where it did not come before the download: with it, the answer knows whether
   * it is to fail before it begins. Not for long, since some clients upload only when the download was answered.
   */
  async waitForFirst(requestId: string, patienceMs: number): Promise<void> {
    this.#over.delete(requestId);
    const room = this.#room(requestId);
    if (room.queue.length > 0 || room.failure) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      room.onFirst = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    room.onFirst = undefined;
  }

  /** Joins the download: hands over every upload so far, and every later one until {@link leave}. */
  join(requestId: string, uplink: Uplink): void {
    const room = this.#room(requestId);
    room.uplink = uplink;
    for (const payload of room.queue.splice(0)) {
      room.bufferedBytes -= payload.length;
      uplink.receive(payload);
    }
    if (room.failure) uplink.stop(room.failure);
  }

  /** The run is over; uploads that still come are nobody's business and harmless. */
  leave(requestId: string): void {
    this.#rooms.delete(requestId);
    this.#over.add(requestId);
    forgetOldest(this.#over, MAX_REMEMBERED);
  }

  #room(requestId: string): Room {
    const known = this.#rooms.get(requestId);
    if (known) return known;
    const room: Room = {
      nextSeqno: 0n,
      early: new Map(),
      queue: [],
      bufferedBytes: 0,
      failure: undefined,
      uplink: undefined,
      onFirst: undefined,
    };
    this.#rooms.set(requestId, room);
    // Uploads whose download never comes: the oldest make room.
    for (const [id, { uplink }] of this.#rooms) {
      if (this.#rooms.size <= MAX_WAITING) break;
      if (!uplink && id !== requestId) this.#rooms.delete(id);
    }
    return room;
  }
}

function forgetOldest(set: Set<string>, max: number): void {
  for (const oldest of set) {
    if (set.size <= max) return;
    set.delete(oldest);
  }
}
