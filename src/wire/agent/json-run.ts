import { fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";

/** Translates the messages of a run whose client speaks protobuf JSON. */
export interface JsonRun {
  /** Reads a message of the client. Throws if it is not valid. */
  decode(payload: Uint8Array): Uint8Array;
  /** Writes a message of the server. */
  encode(payload: Uint8Array): Uint8Array;
}

export const JSON_RUN: JsonRun = {
  decode(payload) {
    const message = fromJsonString(AgentClientMessageSchema, Buffer.from(payload).toString("utf8"), {
      ignoreUnknownFields: true,
    });
    return toBinary(AgentClientMessageSchema, message);
  },
  encode: (payload) =>
    Buffer.from(toJsonString(AgentServerMessageSchema, fromBinary(AgentServerMessageSchema, payload))),
};
