import { hash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import { blobIdOf, hexId } from "../../wire/agent/state/blobs.ts";
import { FLAG_END } from "../../wire/connect/envelope.ts";
import type { CapturedMessage, CaptureNote } from "../records.ts";
import { FieldIndex, findJsonLeaves, findLeaves, type Leaf, looksLikeText } from "./leaves.ts";
import type { Masker } from "./masker.ts";
import { type NestedMessage, nestedMessage } from "./nested-message.ts";
import { isSecretName, NAMED_SECRET } from "./secret-shapes.ts";

/** What a capture keeps of prompts and texts. */
export type CapturedContent = "full" | "hash" | "none";

export interface MaskedMessage {
  readonly bytes: Buffer;
  /** Parts of a text that other messages continue. They are not masked yet. */
  readonly pieces: readonly Piece[];
  readonly notes: readonly CaptureNote[];
  readonly conversationId: string | undefined;
  /** Of the run that the message belongs to, over HTTP/1.1. */
  readonly requestId: string | undefined;
}

/** A part of a text: the bytes of its message from `start` to `end`. */
export interface Piece {
  readonly stream: string;
  readonly start: number;
  readonly end: number;
}

/** What has fewer bytes or quotes cannot name a secret in JSON. */
export const NAMED_SECRET_BYTES = '"token":"12345678"'.length;
export const NAMED_SECRET_QUOTES = 4;
const QUOTE = '"';

/** Names and ids tell how a conversation was made, not what it says. */
const STRUCTURE =
  /(?:^|_)(?:ids?|uuid|name|model|type|kind|role|mode|status|version|code|case|format|object)$|Ids?$|Name$/;

const BLOBS: ReadonlySet<string> = new Set([
  "agent.v1.GetBlobResult.blob_data",
  "agent.v1.SetBlobArgs.blob_data",
  "agent.v1.SelectedImage.BlobIdWithData.data",
]);
const REQUEST_ID = "aiserver.v1.BidiRequestId.request_id";
const CONVERSATION_ID = "conversation_id";
const BLOB_ID_BYTES = 32;

/** True for a field of text that is neither a secret, nor a message, nor an id that the recorder needs. */
export const isOrdinaryText = ({ typeName: owner }: DescMessage, name: string): boolean =>
  !isSecretName(name) &&
  name !== CONVERSATION_ID &&
  `${owner}.${name}` !== REQUEST_ID &&
  nestedMessage({ owner, name }) === undefined;

/** Masks the secrets of messages, and removes their content if that is asked for. Lengths and structure stay. */
export class MessageMasker {
  readonly #masker: Masker;
  readonly #content: CapturedContent;
  readonly #fields = new FieldIndex();

  constructor(masker: Masker, content: CapturedContent) {
    this.#masker = masker;
    this.#content = content;
  }

  mask(message: CapturedMessage, schema: DescMessage | undefined): MaskedMessage {
    const work = new Work(Buffer.from(message.bytes));
    const isProtobuf = message.form !== "event" && (message.flags & FLAG_END) === 0;
    if (!isProtobuf || (!schema && looksLikeText(message.bytes)) || !this.#maskFields(work, schema)) {
      this.#maskText(work, message.form === "event");
    }
    return work;
  }

  #maskFields(work: Work, schema: DescMessage | undefined): boolean {
    const { bytes } = work;
    const leaves: Leaf[] = [];
    if (!findLeaves(bytes, schema, (leaf) => leaves.push(leaf), this.#fields)) return false;
    this.#learn(bytes, leaves);
    const before = Buffer.from(bytes);
    this.#masker.maskKnown(bytes);
    for (const leaf of leaves) this.#maskLeaf(work, leaf, before);
    return true;
  }

  #maskLeaf(work: Work, leaf: Leaf, before: Buffer): void {
    const { start, end, name, owner } = leaf;
    const part = work.bytes.subarray(start, end);
    const place = `${owner}.${name}`;
    const nested = nestedMessage(leaf);
    if (nested) {
      before.copy(part, 0, start, end);
      this.#maskNested(work, part, nested);
      return;
    }
    if (place === REQUEST_ID) work.requestId ??= part.toString("utf8");
    if (name === CONVERSATION_ID) work.conversationId ??= part.toString("utf8");
    if (BLOBS.has(place)) {
      const original = before.subarray(start, end);
      const inner = new Work(part);
      if (looksLikeText(part) || !this.#maskFields(inner, undefined)) this.#maskText(inner, false);
      if (part.equals(original)) return;
      work.notes.push({ type: "blob", from: hexId(blobIdOf(original)), to: hexId(blobIdOf(part)) });
      return;
    }
    if (this.#content !== "full") this.#removeContent(part, name);
    else if (leaf.stream !== undefined) work.addPiece({ stream: leaf.stream, start, end }, before);
    else this.#masker.maskShapes(part);
  }

  #maskNested(work: Work, part: Buffer, { schema, isHex }: NestedMessage) {
    const inner = new Work(isHex ? Buffer.from(part.toString("latin1"), "hex") : part);
    if (isHex && inner.bytes.length * 2 !== part.length) {
      this.#maskText(new Work(part), false);
      return;
    }
    if (!this.#maskFields(inner, schema)) this.#maskText(inner, false);
    // The next message is in another call, so that its text cannot be waited for.
    for (const { start, end } of inner.pieces) this.#masker.mask(inner.bytes.subarray(start, end));
    if (isHex) part.write(inner.bytes.toString("hex"), "latin1");
    work.notes.push(...inner.notes);
    work.conversationId ??= inner.conversationId;
  }

  #maskText(work: Work, isEvent: boolean): void {
    const { bytes } = work;
    const leaves: Leaf[] = [];
    const text = bytes.toString("latin1");
    const isJson = isEvent || /^\s*[[{]/.test(text);
    if (isJson) findJsonLeaves(text, isEvent, (leaf) => leaves.push(leaf));
    this.#learn(bytes, leaves);
    const before = Buffer.from(bytes);
    this.#masker.maskKnown(bytes);
    if (this.#content === "full") {
      // Pieces are masked with what follows them, everything else now.
      const pieces = leaves.filter(({ stream }) => stream !== undefined);
      let from = 0;
      for (const { start, end, stream = "" } of pieces) {
        this.#masker.maskShapes(bytes.subarray(from, start));
        work.addPiece({ stream, start, end }, before);
        from = end;
      }
      this.#masker.maskShapes(bytes.subarray(from));
      return;
    }
    if (!isJson) this.#removeContent(bytes, "");
    for (const { start, end, name } of leaves) this.#removeContent(bytes.subarray(start, end), name);
  }

  /** Keeps names and ids, and the length of everything else. */
  #removeContent(part: Buffer, name: string): void {
    if (STRUCTURE.test(name) || (part.length === BLOB_ID_BYTES && !looksLikeText(part))) {
      this.#masker.maskShapes(part);
      return;
    }
    if (this.#content === "none") part.fill("x");
    else part.write(hashText(part), "latin1");
  }

  /** What is called a secret is masked wherever else it is. */
  #learn(bytes: Buffer, leaves: readonly Leaf[]): void {
    for (const { name, start, end } of leaves) {
      if (isSecretName(name)) this.#masker.add(bytes.toString("utf8", start, end));
    }
    if (!bytes.includes(QUOTE)) return;
    for (const [, , value = ""] of bytes.toString("utf8").matchAll(NAMED_SECRET)) this.#masker.add(value);
  }
}

class Work implements MaskedMessage {
  readonly bytes: Buffer;
  readonly pieces: Piece[] = [];
  readonly notes: CaptureNote[] = [];
  conversationId: string | undefined;
  requestId: string | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Undoes the mask of a part: a secret that continues in the next message must be masked as a whole. */
  addPiece(piece: Piece, original: Buffer): void {
    original.copy(this.bytes, piece.start, piece.start, piece.end);
    this.pieces.push(piece);
  }
}

/** The same text for the same content, as long as the content. */
function hashText(content: Buffer): string {
  const digest = hash("sha256", content, "hex");
  return digest.repeat(Math.ceil(content.length / digest.length)).slice(0, content.length);
}
