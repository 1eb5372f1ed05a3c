import fc from "fast-check";
import { expect, it } from "vitest";
import { expectSoundParsing, hostile, key, or, withMore } from "../support/hostile.ts";
import { aFace, context } from "./support/requests.ts";

const face = aFace();
const part = or(
  fc.oneof(
    fc.record({ type: fc.constantFrom("input_text", "output_text", "text"), text: or(fc.string()) }),
    fc.record({ type: fc.constant("refusal"), refusal: or(fc.string()) }),
    fc.record({ type: fc.constant("input_image"), image_url: or(fc.constantFrom("u", "v", "bad")) }),
    fc.record({ type: fc.constant("input_file"), file_data: or(fc.constantFrom("x", "data:,y", "data:z")) }),
  ),
);
const content = or(fc.oneof(fc.string(), fc.string(), fc.array(part, { maxLength: 3 })));
const callId = or(fc.constantFrom("1", "2", "__proto__"));
const tool = or(
  fc.oneof(
    fc.record({ type: fc.constant("function"), name: or(key), parameters: or(hostile) }),
    fc.record({ type: fc.constant("custom"), name: or(key), format: or(hostile) }),
    fc.record({
      type: fc.constant("namespace"),
      name: or(key),
      tools: fc.array(fc.record({ type: fc.constant("function"), name: or(key) }), { maxLength: 2 }),
    }),
    fc.record({ type: key }),
  ),
);
const message = fc.record({
  role: or(fc.constantFrom("system", "developer", "user", "user", "user", "assistant")),
  content,
});
const item = or(
  fc.oneof(
    message,
    message,
    fc.record({
      type: fc.constant("function_call"),
      call_id: callId,
      name: or(key),
      arguments: or(hostile.map((value) => JSON.stringify(value))),
      namespace: key,
    }),
    fc.record({ type: fc.constant("custom_tool_call"), call_id: callId, name: or(key), input: or(fc.string()) }),
    fc.record({
      type: fc.constantFrom("function_call_output", "custom_tool_call_output"),
      call_id: callId,
      output: content,
    }),
    fc.record({ type: fc.constant("reasoning"), summary: or(fc.array(part)), encrypted_content: or(fc.string()) }),
    fc.record({ type: fc.constant("additional_tools"), tools: fc.array(tool, { maxLength: 2 }) }),
    fc.record({ type: fc.constant("item_reference"), id: or(fc.constantFrom("rs_1", "msg_1")) }),
  ),
);
const body = withMore(
  fc.record(
    {
      model: or(fc.constant("m")),
      input: or(fc.oneof(fc.string(), fc.array(item, { maxLength: 5 }))),
      instructions: or(fc.string()),
      tools: or(fc.array(tool, { maxLength: 2 })),
      tool_choice: or(fc.constantFrom("auto", "none", "required", { type: "function", name: "toString" })),
      text: or(fc.record({ format: or(fc.record({ type: fc.constant("json_schema"), name: key, schema: hostile })) })),
      include: or(fc.array(fc.string())),
      metadata: hostile,
    },
    { requiredKeys: ["model", "input"] },
  ),
);

it("is a turn that others can work with, or a refusal that names its place; and changes no prototype (FUZ-05)", async () => {
  await expectSoundParsing(face, context, body, ({ turn, stream }) => {
    expect(new Set(turn.tools.map(({ name }) => name)).size).toBe(turn.tools.length);
    stream().step([
      { type: "text", text: "a" },
      { type: "done", reason: "stop" },
    ]);
  });
});
