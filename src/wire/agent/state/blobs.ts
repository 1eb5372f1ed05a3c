import { hash } from "node:crypto";

/**
 * The blobs of one conversation, by the hex of their id. Never shared between conversations: clients of this protocol
 * that did have mixed up their users' contexts.
 */
export class Blobs {
  /** Not there before the first. */
  #byId: Map<string, Uint8Array> | undefined;

  constructor(known?: ReadonlyMap<string, Uint8Array>) {
    this.#byId = known && new Map(known);
  }

  /** Keeps content of ours; its id is the sha256 of it. */
  add(content: Uint8Array | string): Uint8Array {
    const bytes = Buffer.from(content);
    const id = hash("sha256", bytes, "hex");
    this.#put(id, bytes);
    return Buffer.from(id, "hex");
  }

  /** Keeps what the backend wants kept under an id of its own. */
  set(id: Uint8Array, content: Uint8Array): void {
    this.#put(hex(id), Uint8Array.from(content));
  }

  /** An id that is no hash is the content itself: some structures carry short content inline. */
  get(id: Uint8Array): Uint8Array | undefined {
    return this.#byId?.get(hex(id)) ?? (id.length > 0 && id.length !== 32 ? id : undefined);
  }

  /** Those of these ids that are here. */
  pick(ids: Iterable<Uint8Array>): ReadonlyMap<string, Uint8Array> {
    const picked = new Map<string, Uint8Array>();
    for (const id of ids) {
      const content = this.#byId?.get(hex(id));
      if (content) picked.set(hex(id), content);
    }
    return picked;
  }

  #put(id: string, content: Uint8Array): void {
    this.#byId ??= new Map();
    this.#byId.set(id, content);
  }
}

const hex = (id: Uint8Array): string => Buffer.from(id).toString("hex");
