import type { Cassette, CassetteCall } from "../../replay/cassette.ts";
import { IdMap } from "../../replay/id-map.ts";
import { isSameMapped, isSameMeaning, type Meaning, meaningOf, showMeaning } from "../../replay/meaning.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import { isIgnored } from "./ignored-messages.ts";

/** Chooses the recorded call for each call of the client: in the order of the recording, then the last one again. */
export class CassettePlayer {
  readonly cassette: Cassette;
  readonly #played = new Set<CassetteCall>();
  readonly #onLeave: (text: string) => void;

  constructor(cassette: Cassette, onLeave: (text: string) => void) {
    this.cassette = cassette;
    this.#onLeave = onLeave;
  }

  /** The stream that begins with this message. */
  findStream(path: string, first: Meaning, payload: Uint8Array): CassetteCall {
    const calls = this.cassette.calls.filter((call) => call.path === path);
    const begun = calls.flatMap((call) => {
      const begin = call.messages.find(({ direction, meaning }) => direction === "sent" && !isIgnored(meaning));
      return begin?.meaning.kind === first.kind ? [{ call, begin }] : [];
    });
    const same = begun.filter(({ begin }) => isSameMeaning(begin.meaning, first));
    const masked = () =>
      begun.filter(({ begin }) => {
        const ids = new IdMap();
        ids.learn(begin.bytes, payload);
        return isSameMapped(begin.meaning, first, ids);
      });
    const found = this.#take((same.length > 0 ? same : masked()).map(({ call }) => call));
    if (found) return found;
    const begins = calls.map(({ messages }) => messages.find(({ direction }) => direction === "sent")?.meaning);
    const known = begins.map((begin) => (begin ? showMeaning(begin) : "nothing")).slice(0, 5);
    throw this.leave(
      path,
      calls.length === 0
        ? "the cassette has no such call"
        : `no recorded call begins with ${showMeaning(first)}, only with ${known.join(", ")}`,
    );
  }

  /** The unary call that says the same, or the next one of this path. */
  findUnary(method: string, path: string, contentType: string | undefined, body: Uint8Array): CassetteCall {
    const type = mediaType(contentType);
    const calls = this.cassette.calls.filter(
      ({ head, path: recorded }) =>
        head.method === method && recorded === path && mediaType(head.headers["content-type"]) === type,
    );
    const schema = type === "application/proto" ? calls[0]?.method?.input : undefined;
    const meaning = meaningOf(schema, body);
    const same = calls.filter(({ messages: [first] }) => first && isSameMeaning(first.meaning, meaning));
    const found = this.#take(same) ?? this.#take(calls);
    if (found) return found;
    throw this.leave(path, `the cassette has no such call (${method}, ${type ?? "no content type"})`);
  }

  /** Returns the error for a client that does something else than the recorded one. */
  leave(path: string, what: string): ConnectFailure {
    const text = `The client left the cassette in ${path}: ${what}.`;
    this.#onLeave(text);
    return new ConnectFailure("failed_precondition", text);
  }

  #take(calls: readonly CassetteCall[]): CassetteCall | undefined {
    const call = calls.find((candidate) => !this.#played.has(candidate)) ?? calls.at(-1);
    if (call) this.#played.add(call);
    return call;
  }
}
