import type { FrameWriter } from "./frame-writer.ts";

/** The two halves of one HTTP/1.1 run: the download that is held open, the uploads that arrive beside it. */
export interface Meeting {
  readonly requestId: string;
  readonly out: FrameWriter;
  /** Hands over every upload so far, in order, and every later one. Called once. */
  read(onMessage: (payload: Uint8Array) => void): void;
  /** The run is over; uploads that still come are nobody's business and harmless. */
  leave(): void;
}

const MAX_WAITING = 1000;
const MAX_BUFFERED_BYTES = 64 << 20;
const MAX_REMEMBERED = 10_000;

interface Room {
  nextSeqno: bigint;
  readonly early: Map<bigint, Uint8Array>;
  readonly queue: Uint8Array[];
  bufferedBytes: number;
  onMessage: ((payload: Uint8Array) => void) | undefined;
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
      if (room.onMessage) {
        room.bufferedBytes -= next.length;
        room.onMessage(next);
      } else {
        room.queue.push(next);
      }
    }
  }

  /** Whether the first upload came before the download. */
  hasFirst(requestId: string): boolean {
    return (this.#rooms.get(requestId)?.queue.length ?? 0) > 0;
  }

  /** Joins the download to its uploads. */
  join(requestId: string, out: FrameWriter): Meeting {
    const room = this.#room(requestId);
    return {
      requestId,
      out,
      read(onMessage) {
        room.onMessage = onMessage;
        for (const payload of room.queue.splice(0)) {
          room.bufferedBytes -= payload.length;
          onMessage(payload);
        }
      },
      leave: () => {
        this.#rooms.delete(requestId);
        this.#over.add(requestId);
        forgetOldest(this.#over, MAX_REMEMBERED);
      },
    };
  }

  #room(requestId: string): Room {
    const known = this.#rooms.get(requestId);
    if (known) return known;
    const room: Room = {
      nextSeqno: 0n,
      early: new Map(),
      queue: [],
      bufferedBytes: 0,
      onMessage: undefined,
    };
    this.#rooms.set(requestId, room);
    // Uploads whose download never comes: the oldest make room.
    for (const [id, { onMessage }] of this.#rooms) {
      if (this.#rooms.size <= MAX_WAITING) break;
      if (!onMessage && id !== requestId) this.#rooms.delete(id);
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
