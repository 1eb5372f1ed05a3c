import { fileStamp } from "../../../config/file-stamp.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { type GatewayKey, readKeys } from "./gateway-keys.ts";

/** True for the principal of an issued key, revoked or not. */
export const isIssued = (principalId: string): boolean => principalId.startsWith("key_");

/** The issued keys, reread when their file changes: a revoked key stops working without a restart. */
export class KnownKeys {
  readonly #path: string;
  readonly #onProblem: (text: string) => void;
  #stamp: string | undefined;
  #byDigest: ReadonlyMap<string, GatewayKey> = new Map();
  #byId: ReadonlyMap<string, GatewayKey> = new Map();

  constructor(path: string, onProblem: (text: string) => void) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  withDigest(digest: string): GatewayKey | undefined {
    this.#refresh();
    return this.#byDigest.get(digest);
  }

  withId(id: string): GatewayKey | undefined {
    if (!isIssued(id)) return undefined;
    this.#refresh();
    return this.#byId.get(id);
  }

  /** Returns the ids of all keys. */
  ids(): ReadonlySet<string> {
    this.#refresh();
    return new Set(this.#byId.keys());
  }

  /** Checks the file's stamp on every request, which takes a few microseconds. */
  #refresh(): void {
    const stamp = fileStamp(this.#path);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    const keys = this.#read();
    this.#byDigest = new Map(keys.map((key) => [key.digest, key]));
    this.#byId = new Map(keys.map((key) => [key.id, key]));
  }

  /** Accepts no key if the file cannot be read. */
  #read(): readonly GatewayKey[] {
    try {
      return readKeys(this.#path);
    } catch (error) {
      this.#onProblem(ExcursorError.from(error).message);
      return [];
    }
  }
}
