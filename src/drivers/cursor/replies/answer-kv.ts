import type { KvServerMessage } from "../../../gen/agent/v1/kv_pb.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { Blobs } from "../../../wire/agent/state/blobs.ts";

/** Keeps or finds a blob, and says so; undefined if it was asked for something that we do not know. */
export function answerKv({ id, message }: KvServerMessage, blobs: Blobs): ClientMessage | undefined {
  switch (message.case) {
    case "setBlobArgs":
      blobs.set(message.value.blobId, message.value.blobData);
      return { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } };
    case "getBlobArgs": {
      // One that is missing has no data at all: empty bytes would be taken for an empty history.
      const blobData = blobs.get(message.value.blobId);
      const value = blobData ? { blobData } : {};
      return { case: "kvClientMessage", value: { id, message: { case: "getBlobResult", value } } };
    }
    default:
      return undefined;
  }
}
