import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../../core/errors.ts";
import { type ConversationIds, conversationIds } from "../../usage/queries/conversation-ids.ts";
import { type Call, MAX_REPLY_BYTES } from "../call.ts";
import type { CapturedMessagesReply, CapturedReply } from "../captured-messages.ts";

/** The capture of the running gateway. */
export interface CapturedSource {
  listCalls(ids: ConversationIds): Promise<CapturedReply>;
  /** Reads messages from a place in the file on. They have at most `maxBytes` as JSON. */
  readMessages(call: number, from: number, maxBytes: number): Promise<CapturedMessagesReply>;
}

const NOT_RECORDED: CapturedReply = { file: null, calls: [], isCut: false };

/** The calls that show what was said in a conversation, if the gateway records it. */
export function capturedCalls(usage: DatabaseSync, source: CapturedSource | undefined): readonly Call[] {
  return [
    {
      method: "GET",
      path: "/captured/{conversation}",
      handle: ({ path: { conversation = "" } }) =>
        source?.listCalls(conversationIds(usage, conversation)) ?? NOT_RECORDED,
    },
    {
      method: "GET",
      path: "/captured-calls/{call}",
      handle({ path: { call }, query }) {
        if (!source) throw new ExcursorError("not-found", "The gateway records nothing.", { hint: NOT_ON });
        const from = Number(query.get("from") ?? 0);
        if (!Number.isSafeInteger(from) || from < 0) {
          throw new ExcursorError("invalid-request", "from: expected `next` of the part before.", { field: "from" });
        }
        return source.readMessages(Number(call), from, MAX_REPLY_BYTES * 0.9);
      },
    },
  ];
}

const NOT_ON = "Start it with `excursor serve --capture`.";
