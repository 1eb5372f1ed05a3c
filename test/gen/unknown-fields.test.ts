import { type DescMessage, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConversationStateStructureSchema } from "../../src/gen/agent/v1/conversation_pb.ts";
import { ExecServerMessageSchema } from "../../src/gen/agent/v1/exec_pb.ts";
import { InteractionUpdateSchema } from "../../src/gen/agent/v1/interaction_pb.ts";
import { InteractionQuerySchema } from "../../src/gen/agent/v1/query_pb.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { ErrorDetailsSchema } from "../../src/gen/aiserver/v1/error_pb.ts";
import {
  StreamUnifiedChatRequestWithToolsSchema,
  StreamUnifiedChatResponseWithToolsSchema,
} from "../../src/gen/aiserver/v1/unified_chat_pb.ts";
import { message } from "./arbitrary.ts";

describe("what we have no name for survives byte for byte", () => {
  const unknown = bytesField(99, Uint8Array.of(0x0a, 0x02, 0x68, 0x69));

  test.each<[name: string, schema: DescMessage, bytes: Uint8Array]>([
    ["a server message", AgentServerMessageSchema, unknown],
    ["an update", InteractionUpdateSchema, unknown],
    ["an update within a server message", AgentServerMessageSchema, bytesField(1, unknown)],
    [
      "an exec, with both of its ids",
      ExecServerMessageSchema,
      concat(varintField(1, 7), bytesField(15, Buffer.from("e7")), unknown),
    ],
    ["an exec of id 0", ExecServerMessageSchema, unknown],
    ["a query", InteractionQuerySchema, concat(varintField(1, 3), unknown)],
    ["a query of id 0", InteractionQuerySchema, unknown],
    [
      "fields of a checkpoint",
      ConversationStateStructureSchema,
      concat(
        bytesField(1, new Uint8Array(32).fill(1)),
        bytesField(5, concat(varintField(1, 1500), varintField(9, 1))),
        varintField(132, 300),
        bytesField(135, Buffer.from("x")),
        bytesField(135, Buffer.from("y")),
      ),
    ],
  ])("%s", (_, schema, bytes) => {
    expect(toBinary(schema, fromBinary(schema, bytes))).toEqual(bytes);
  });
});

test("an unknown member leaves the oneof unset", () => {
  const exec = fromBinary(ExecServerMessageSchema, concat(varintField(1, 7), bytesField(99, new Uint8Array())));
  expect(exec.id).toBe(7);
  expect(exec.message.case).toBeUndefined();
  expect(exec.$unknown?.map((field) => field.no)).toEqual([99]);
});

test("an unknown field before a known one is kept, and written after it", () => {
  const known = bytesField(22, Buffer.from("cli"));
  const unknown = varintField(119, 1);
  const state = fromBinary(ConversationStateStructureSchema, concat(unknown, known));
  expect(toBinary(ConversationStateStructureSchema, state)).toEqual(concat(known, unknown));
});

describe("decoding what was encoded gives the same message and the same bytes", () => {
  test.each<DescMessage>([
    AgentClientMessageSchema,
    AgentServerMessageSchema,
    ConversationStateStructureSchema,
    ErrorDetailsSchema,
    StreamUnifiedChatRequestWithToolsSchema,
    StreamUnifiedChatResponseWithToolsSchema,
  ])("$typeName", (schema) => {
    fc.assert(
      fc.property(message(schema), fc.uint8Array(), (original, payload) => {
        const bytes = concat(toBinary(schema, original), bytesField(1000, payload));
        const decoded = fromBinary(schema, bytes);
        expect(toBinary(schema, decoded)).toEqual(bytes);
        expect(equals(schema, decoded, original)).toBe(true);
      }),
    );
  });
});

function bytesField(no: number, payload: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(no, WireType.LengthDelimited).bytes(payload).finish();
}

function varintField(no: number, value: number): Uint8Array {
  return new BinaryWriter().tag(no, WireType.Varint).uint32(value).finish();
}

function concat(...parts: Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
