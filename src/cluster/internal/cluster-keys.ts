import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";
import { FrameOpener, FrameSealer } from "./frames.ts";

/** The two directions of a connection. Each has a key of its own. */
type Direction = "request" | "answer";

/** What the gateways of one cluster can prove to each other, since they share a secret. */
export class ClusterKeys {
  readonly #key: KeyObject;

  constructor(secret: Secret) {
    this.#key = createSecretKey(createHmac("sha256", "excursor cluster v1").update(secret.reveal()).digest());
  }

  /** Returns a proof of the parts, which only a holder of the secret can make. */
  prove(purpose: string, ...parts: readonly string[]): string {
    return this.#mac("prove", purpose, ...parts).toString("base64url");
  }

  isProof(proof: string, purpose: string, ...parts: readonly string[]): boolean {
    const expected = Buffer.from(this.prove(purpose, ...parts));
    const given = Buffer.from(proof);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** Encrypts what is sent in one direction of the connection with this nonce. */
  sealer(direction: Direction, nonce: string): FrameSealer {
    return new FrameSealer(this.#mac("seal", direction, nonce));
  }

  opener(direction: Direction, nonce: string, maxFrameBytes: number): FrameOpener {
    return new FrameOpener(this.#mac("seal", direction, nonce), maxFrameBytes);
  }

  /** The length in front of each part keeps ("ab", "c") and ("a", "bc") apart. */
  #mac(...parts: readonly string[]): Buffer {
    const mac = createHmac("sha256", this.#key);
    for (const part of parts) mac.update(`${Buffer.byteLength(part)}:${part}`);
    return mac.digest();
  }
}
