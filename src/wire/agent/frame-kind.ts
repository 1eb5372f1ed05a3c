import { type DescMessage, type DescMethod, fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { AgentClientMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { AiService } from "../../gen/aiserver/v1/ai_pb.ts";
import { BidiAppendRequestSchema } from "../../gen/aiserver/v1/bidi_pb.ts";
import { ChatService } from "../../gen/aiserver/v1/unified_chat_pb.ts";
import { readAppend } from "./bidi-append.ts";

/** Returns the streaming method of a path, if the backend has one there. */
export const methodOf = (path: string): DescMethod | undefined =>
  [AgentService, ChatService, AiService]
    .flatMap<DescMethod>(({ methods }) => methods)
    .find(({ parent, name }) => path === `/${parent.typeName}/${name}`);

/**
 * Returns the kind of a message without its content: the member of its oneof and that of the nested message, such as
 * `interaction_update.text_delta`.
 */
export function messageKind(schema: DescMessage, payload: Uint8Array): string {
  try {
    return memberPath(schema, payload).join(".") || schema.name;
  } catch {
    return "unreadable";
  }
}

export function appendedKind(body: Uint8Array): string {
  try {
    return messageKind(AgentClientMessageSchema, readAppend(fromBinary(BidiAppendRequestSchema, body)).payload);
  } catch {
    return "unreadable";
  }
}

function memberPath(schema: DescMessage, payload: Uint8Array, depth = 2): string[] {
  if (depth === 0 || schema.oneofs.length === 0) return [];
  const reader = new BinaryReader(payload);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = schema.fields.find((known) => known.number === number);
    if (field && !field.oneof) {
      reader.skip(wireType);
      continue;
    }
    if (!field) return [`#${number}`];
    if (field.fieldKind !== "message" || wireType !== WireType.LengthDelimited) return [field.name];
    return [field.name, ...memberPath(field.message, reader.bytes(), depth - 1)];
  }
  return [];
}
