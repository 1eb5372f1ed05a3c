import { create, fromBinary, fromJson, toBinary, toJson, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/turn.ts";
import { ConversationStepSchema } from "../../../src/gen/agent/v1/tool_call_pb.ts";
import { encodeValue, encodeValueMap } from "../../../src/wire/agent/encode-value.ts";
import { encodeToolStep } from "../../../src/wire/agent/state/tool-step.ts";

// What has no place in JSON: -0.
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

it("any JSON is written as the generated code writes it", () => {
  fc.assert(
    fc.property(json, (value) => {
      const generated = toBinary(ValueSchema, fromJson(ValueSchema, value as WireJson));
      expect(Buffer.from(encodeValue(value))).toEqual(Buffer.from(generated));
    }),
  );
});

it("an object is a map in any field", () => {
  const object: JsonObject = { a: 1, b: [null, true, { c: "d" }], "": {} };
  const { fields } = fromBinary(StructSchema, encodeValueMap(1, object));
  expect(create(StructSchema, { fields })).toEqual(fromJson(StructSchema, object as WireJson));
});

it("what is nested too deep for decoders is written as text", () => {
  const deep = (levels: number): JsonObject => (levels === 1 ? { end: 1 } : { a: deep(levels - 1) });
  const read = (value: JsonObject) => toJson(ValueSchema, fromBinary(ValueSchema, encodeValue(value)));
  expect(read(deep(30))).toEqual(deep(30));
  const text = JSON.stringify(read(deep(40)));
  expect(text).toContain(JSON.stringify(JSON.stringify(deep(10))));
  const { fields } = fromBinary(StructSchema, encodeValueMap(1, deep(1000)));
  expect(JSON.stringify(toJson(StructSchema, create(StructSchema, { fields })))).toContain(
    JSON.stringify(JSON.stringify(deep(970))),
  );
});

it("a number that is too large for JSON's readers is null, as JSON.stringify has it", () => {
  expect(encodeValue([JSON.parse("1e400"), 1])).toEqual(encodeValue([null, 1]));
});

it("a call with its result reads back as it was told", () => {
  const bytes = encodeToolStep(
    { type: "tool-call", id: "1", name: "look", args: { at: "a" } },
    {
      role: "tool",
      callId: "1",
      isError: true,
      content: [
        { type: "text", text: "saw" },
        { type: "image", mediaType: "image/png", data: Buffer.from("x") },
      ],
    },
  );
  expect(fromBinary(ConversationStepSchema, bytes).message).toMatchObject({
    case: "toolCall",
    value: {
      toolCallId: "1",
      tool: {
        case: "mcpToolCall",
        value: {
          args: { toolName: "look", toolCallId: "1", args: { at: { kind: { case: "stringValue", value: "a" } } } },
          result: {
            result: {
              case: "success",
              value: {
                isError: true,
                content: [
                  { content: { case: "text", value: { text: "saw" } } },
                  { content: { case: "image", value: { mimeType: "image/png" } } },
                ],
              },
            },
          },
        },
      },
    },
  });
});
