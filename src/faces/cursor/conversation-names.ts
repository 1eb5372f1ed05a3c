import { hash } from "node:crypto";
import { create, fromBinary, fromJsonString, toBinary, toJson } from "@bufbuild/protobuf";
import type { Awaitable } from "../../core/awaitable.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { AgentClientMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { userMessagesOf } from "../../wire/agent/read-run-request.ts";

const { input, output } = AgentService.method.nameAgent;

const MAX_KNOWN = 1000;
const MAX_WORDS = 6;

/** The messages that opened runs of ours, by digest. */
export interface KnownMessages {
  add(digest: string): void;
  has(digest: string): Awaitable<boolean>;
}

/** Keeps the last ones in memory. */
class RecentMessages implements KnownMessages {
  readonly #digests = new BoundedMap<string, true>(MAX_KNOWN);

  add(digest: string): void {
    this.#digests.set(digest, true);
  }

  has(digest: string): boolean {
    return this.#digests.has(digest);
  }
}

/** Names the conversations of our own models here, so that their messages do not go to Cursor for a name. */
export class ConversationNames {
  readonly #known: KnownMessages;

  constructor(known: KnownMessages = new RecentMessages()) {
    this.#known = known;
  }

  /** Takes the opening message of a run of ours. */
  add(payload: Uint8Array): void {
    for (const text of openingTexts(payload)) this.#known.add(digestOf(text));
  }

  /** Returns the answer to a `NameAgent` request; undefined if its message is not known to be ours. */
  async answer(body: Buffer, isJson: boolean): Promise<Uint8Array | undefined> {
    try {
      const { userMessage } = isJson
        ? fromJsonString(input, body.toString("utf8"), { ignoreUnknownFields: true })
        : fromBinary(input, body);
      const isOurs = await this.#known.has(digestOf(userMessage));
      return isOurs ? named(userMessage, isJson) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The first words of a message, as a `NameAgentResponse`. */
function named(message: string, isJson: boolean): Uint8Array {
  const answer = create(output, { name: nameOf(message) });
  return isJson ? Buffer.from(JSON.stringify(toJson(output, answer))) : toBinary(output, answer);
}

export const nameOf = (message: string): string =>
  message.trim().split(/\s+/).slice(0, MAX_WORDS).join(" ") || "New conversation";

const digestOf = (text: string): string => hash("sha256", text.trim(), "base64url");

function openingTexts(payload: Uint8Array): readonly string[] {
  try {
    const { message } = fromBinary(AgentClientMessageSchema, payload);
    const action = message.case === "runRequest" ? message.value.action : undefined;
    return action ? userMessagesOf(action).map(({ text }) => text) : [];
  } catch {
    return [];
  }
}
