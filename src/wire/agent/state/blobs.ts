import { hash } from "node:crypto";
import { ExcursorError } from "../../../core/errors.ts";

/** Ids of this length are the SHA-256 of their content. Other ids are the content itself. */
const ID_BYTES = 32;

export const blobIdOf = (content: Uint8Array): Buffer => hash("sha256", content, "buffer");

export const isContentOf = (id: Uint8Array, content: Uint8Array): boolean =>
  id.length !== ID_BYTES || blobIdOf(content).equals(id);

/** The blobs of one conversation. Never shared, since that would mix up the contexts of users. */
export class Blobs {
  /** By the hex of the id. Created with the first blob. */
  #byId: Map<string, Uint8Array> | undefined;

  constructor(known?: ReadonlyMap<string, Uint8Array>) {
    this.#byId = known && new Map(known);
  }

  add(content: Uint8Array | string): Uint8Array {
    const bytes = Buffer.from(content);
    const id = blobIdOf(bytes);
    this.#put(hexId(id), bytes);
    return id;
  }

  /** Stores content under an id that the other side chose. */
  set(id: Uint8Array, content: Uint8Array): void {
    this.#put(hexId(id), Uint8Array.from(content));
  }

  get(id: Uint8Array): Uint8Array | undefined {
    return this.#byId?.get(hexId(id)) ?? (id.length > 0 && id.length !== ID_BYTES ? id : undefined);
  }

  /** Returns the requested blobs that are present. */
  pick(ids: Iterable<Uint8Array>): ReadonlyMap<string, Uint8Array> {
    const picked = new Map<string, Uint8Array>();
    for (const id of ids) {
      const content = this.#byId?.get(hexId(id));
      if (content) picked.set(hexId(id), content);
    }
    return picked;
  }

  #put(id: string, content: Uint8Array): void {
    this.#byId ??= new Map();
    this.#byId.set(id, content);
  }
}

export const hexId = (id: Uint8Array): string => Buffer.from(id).toString("hex");

/** Stores or sends a blob, and returns its id. */
export type AddBlob = (content: Uint8Array) => Uint8Array;

/** The source of blobs for the server of a run: its client. */
export interface BlobSource {
  /** Returns undefined if the client does not have it. */
  get(id: Uint8Array): Promise<Uint8Array | undefined>;
  /** Called for an id of the wrong length. Throws, or returns to tolerate it. */
  onBadId(field: string, problem: string): void;
}

/** Calls `onBadId` unless this is an id. `field` is its place. */
export function checkBlobId(id: Uint8Array, field: string, blobs: BlobSource): void {
  if (id.length === ID_BYTES) return;
  blobs.onBadId(field, `a blob id has ${ID_BYTES} bytes, this has ${id.length}: ${notFoundText(id)}`);
}

/** Gets a blob. Throws `blob_not_found` if the client does not have it. */
export async function needBlob(id: Uint8Array, field: string, blobs: BlobSource): Promise<Uint8Array> {
  checkBlobId(id, field, blobs);
  const content = await blobs.get(id);
  if (content) return content;
  throw new ExcursorError(BLOB_NOT_FOUND, notFoundText(id), { field });
}

export const BLOB_NOT_FOUND = "blob_not_found";

/** Clients recognise a lost checkpoint by these words of the real backend. */
const notFoundText = (id: Uint8Array): string => `Blob not found: ${id.join(",")}`;
