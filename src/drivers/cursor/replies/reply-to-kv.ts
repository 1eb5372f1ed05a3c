import type { KvServerMessage } from "../../../gen/agent/v1/kv_pb.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { Blobs } from "../../../wire/agent/state/blobs.ts";

/** Stores or finds a blob and returns the reply. Returns undefined for an unknown request. */
export function replyToKv({ id, message }: KvServerMessage, blobs: Blobs): ClientMessage | undefined {
  switch (message.case) {
    case "setBlobArgs":
      blobs.set(message.value.blobId, message.value.blobData);
      return { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } };
    case "getBlobArgs": {
      // A missing blob is a reply without data: empty data would mean an empty history.
      const blobData = blobs.get(message.value.blobId);
      const value = blobData ? { blobData } : {};
      return { case: "kvClientMessage", value: { id, message: { case: "getBlobResult", value } } };
    }
    default:
      return undefined;
  }
}
