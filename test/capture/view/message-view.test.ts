import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import type { CapturedMessage } from "../../../src/capture/records.ts";
import { viewMessage } from "../../../src/capture/view/message-view.ts";
import { AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";

const RUN = "/agent.v1.AgentService/Run";

const frame = (bytes: Uint8Array, more: Partial<CapturedMessage> = {}): CapturedMessage => ({
  direction: "received",
  form: "frame",
  flags: 0,
  wasCompressed: false,
  bytes,
  ...more,
});

const delta = (text: string) =>
  toBinary(
    AgentServerMessageSchema,
    create(AgentServerMessageSchema, {
      message: { case: "interactionUpdate", value: { message: { case: "textDelta", value: { text } } } },
    }),
  );

test("shows fields that our schema does not have beside the message, with the type that they are in", () => {
  const extra = new BinaryWriter().tag(999, WireType.LengthDelimited).string("new words").finish();
  const number = new BinaryWriter().tag(998, WireType.Varint).uint32(7).finish();
  const view = viewMessage(frame(Buffer.concat([delta("hi"), extra, number])), RUN);
  expect(view).toEqual({
    kind: "interaction_update.text_delta",
    type: "agent.v1.AgentServerMessage",
    value: { interactionUpdate: { textDelta: { text: "hi" } } },
    unknown: [
      { in: "agent.v1.AgentServerMessage", number: 999, value: { wire: "bytes", text: "new words" } },
      { in: "agent.v1.AgentServerMessage", number: 998, value: { wire: "varint", value: "7" } },
    ],
  });
});

test("shows a message without a schema by its numbers, wire types and guesses", () => {
  const inner = new BinaryWriter().tag(1, WireType.Varint).uint32(5).tag(2, WireType.LengthDelimited).string("deep");
  const bytes = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string("a text")
    .tag(2, WireType.LengthDelimited)
    .bytes(inner.finish())
    .tag(3, WireType.Bit32)
    .fixed32(9)
    .tag(4, WireType.Bit64)
    .double(1.5)
    .finish();
  expect(viewMessage(frame(bytes), "/a.v1.Unknown/Call")).toEqual({
    kind: "frame",
    value: {
      fields: [
        { number: 1, wire: "bytes", text: "a text" },
        {
          number: 2,
          wire: "bytes",
          fields: [
            { number: 1, wire: "varint", value: "5" },
            { number: 2, wire: "bytes", text: "deep" },
          ],
        },
        { number: 3, wire: "32-bit", value: "9" },
        { number: 4, wire: "64-bit", value: "4609434218613702656 (double 1.5)" },
      ],
    },
  });
});

test("shows bytes that are no message as hex, also where our schema expects one", () => {
  const bytes = Buffer.from("ff00ff", "hex");
  expect(viewMessage(frame(bytes), "/a.v1.Unknown/Call").value).toEqual({ hex: "ff00ff" });
  expect(viewMessage(frame(bytes), RUN)).toEqual({ kind: "unreadable", value: { hex: "ff00ff" } });
});
