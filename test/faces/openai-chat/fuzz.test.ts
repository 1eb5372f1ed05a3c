import fc from "fast-check";
import { expect, it } from "vitest";
import { expectSoundParsing, hostile, key, or, withMore } from "../support/hostile.ts";
import { aFace, context } from "./support/requests.ts";

const face = aFace();
const part = or(
  fc.oneof(
    fc.record({ type: fc.constant("text"), text: or(fc.string()) }),
    fc.record({
      type: fc.constant("image_url"),
      image_url: or(fc.record({ url: or(fc.constantFrom("u", "v", "w", "bad")) })),
    }),
    fc.record({
      type: fc.constant("file"),
      file: or(fc.record({ file_data: or(fc.constantFrom("x", "data:,y", "data:text/plain,z", "data:z")) })),
    }),
  ),
);
const content = or(fc.oneof(fc.string(), fc.string(), fc.array(part, { maxLength: 3 })));
const toolId = fc.constantFrom("1", "2", "__proto__");
const toolCall = fc.record({
  id: or(toolId),
  type: or(fc.constant("function")),
  function: or(fc.record({ name: or(key), arguments: or(hostile.map((value) => JSON.stringify(value))) })),
});
const message = or(
  fc.record(
    {
      role: or(fc.constantFrom("system", "developer", "user", "user", "assistant", "tool")),
      content,
      tool_calls: fc.array(or(toolCall), { maxLength: 2 }),
      tool_call_id: or(toolId),
    },
    { requiredKeys: ["role", "content"] },
  ),
);
const body = withMore(
  fc.record(
    {
      model: or(fc.constant("m")),
      messages: or(fc.array(message, { maxLength: 5 })),
      tools: or(
        fc.array(
          or(
            fc.record({
              type: fc.constant("function"),
              function: or(fc.record({ name: or(key), parameters: or(hostile) })),
            }),
          ),
          { maxLength: 2 },
        ),
      ),
      tool_choice: or(fc.constantFrom("auto", "none", "required")),
      stop: or(fc.array(fc.string())),
      response_format: or(
        fc.record({ type: fc.constant("json_schema"), json_schema: or(fc.record({ name: key, schema: hostile })) }),
      ),
      metadata: hostile,
    },
    { requiredKeys: ["model", "messages"] },
  ),
);

it("is a turn that others can work with, or a refusal that names its place; and changes no prototype (FUZ-05)", async () => {
  await expectSoundParsing(face, context, body);
});

it("a prototype sent along is not taken on", async () => {
  const given = JSON.parse(
    '{"model":"m","messages":[{"role":"user","content":"a","__proto__":{"x":1}}],"__proto__":{"n":2,"stream":true}}',
  );
  const parsed = await face.parse(given, context);
  expect(parsed.isStream).toBe(false);
  expect(Object.getPrototypeOf(parsed.turn.messages[0])).toBe(Object.prototype);
});
