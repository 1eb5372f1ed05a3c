import { createHash } from "node:crypto";
import type { RedisClient } from "./redis-link.ts";

type Argument = string | Buffer;

/** RESP's mark of a binary string. */
const BLOB_STRING = 36;
const BINARY = { [BLOB_STRING]: Buffer } as const;

/** Returns the same client, with buffers in place of texts in its replies. */
export const inBinary = (client: RedisClient) => client.withTypeMapping(BINARY);

/** A Lua script, which runs as one step. Redis keeps it by its digest, so its text is sent once. */
export class RedisScript {
  readonly #text: string;
  readonly #digest: string;

  constructor(text: string) {
    this.#text = text;
    this.#digest = createHash("sha1").update(text).digest("hex");
  }

  /** Runs the script. Texts in its reply are buffers. */
  async run(client: RedisClient, keys: readonly string[], given: readonly Argument[]): Promise<unknown> {
    const options = { keys: [...keys], arguments: [...given] };
    try {
      return await inBinary(client).evalSha(this.#digest, options);
    } catch (error) {
      // It has not got it yet, or was restarted.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return inBinary(client).eval(this.#text, options);
    }
  }
}
