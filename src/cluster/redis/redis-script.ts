import { createHash } from "node:crypto";
import type { RedisClient } from "./redis-link.ts";

type Argument = string | Buffer;

/** RESP's mark of a binary string. */
const BLOB_STRING = 36;
const BINARY = { [BLOB_STRING]: Buffer } as const;

/** Returns the same client, with buffers in place of texts in its replies. */
export const inBinary = (client: RedisClient) => client.withTypeMapping(BINARY);

/** A Lua script, which runs as one step. Redis keeps it by its digest, so its text is sent once by each client. */
export class RedisScript {
  readonly #text: string;
  readonly #digest: string;
  /** The clients that have sent the text. */
  readonly #senders = new WeakSet<RedisClient>();

  constructor(text: string) {
    this.#text = text;
    this.#digest = createHash("sha1").update(text).digest("hex");
  }

  /** Runs the script. Texts in its reply are buffers. */
  async run(client: RedisClient, keys: readonly string[], given: readonly Argument[]): Promise<unknown> {
    const options = { keys: [...keys], arguments: [...given] };
    const sendText = () => inBinary(client).eval(this.#text, options);
    // The digest alone would be refused, and cost a second round trip.
    if (!this.#senders.has(client)) {
      this.#senders.add(client);
      return sendText();
    }
    try {
      return await inBinary(client).evalSha(this.#digest, options);
    } catch (error) {
      // A Redis that was restarted has forgotten it.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return sendText();
    }
  }
}
