import { fileStamp } from "../../config/file-stamp.ts";
import { ExcursorError } from "../../core/errors.ts";
import { type GatewayKey, readKeys } from "./gateway-keys.ts";

/** Whether a principal is one of these, or was. */
export const isIssued = (principalId: string): boolean => principalId.startsWith("key_");

/** The keys as they are now: whoever was revoked a moment ago is unknown, without a restart. */
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

  /** A look at the file's stamp for every request: a few microseconds. */
  #refresh(): void {
    const stamp = fileStamp(this.#path);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    const keys = this.#read();
    this.#byDigest = new Map(keys.map((key) => [key.digest, key]));
    this.#byId = new Map(keys.map((key) => [key.id, key]));
  }

  /** What cannot be read opens no door. */
  #read(): readonly GatewayKey[] {
    try {
      return readKeys(this.#path);
    } catch (error) {
      this.#onProblem(ExcursorError.from(error).message);
      return [];
    }
  }
}
