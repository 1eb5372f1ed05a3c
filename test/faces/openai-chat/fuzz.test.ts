import fc from "fast-check";
import { expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { historyKeys } from "../../../src/core/history-key.ts";
import { estimateInputTokens } from "../../../src/core/usage-estimate.ts";
import { aFace, context } from "./support/requests.ts";

const face = aFace();
const junk = fc.jsonValue({ maxDepth: 3 });
const or = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 40, arbitrary }, { weight: 1, arbitrary: junk });

const key = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("__proto__", "constructor", "prototype", "toString"));
const hostile = fc.array(fc.tuple(key, junk), { maxLength: 4 }).map(ownEntries);
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
const body = fc
  .record(
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
  )
  .chain((value) => hostile.map((more) => ownEntries([...Object.entries(more), ...Object.entries(value)])));

/** As JSON.parse makes it: `__proto__` is a key like any other. */
function ownEntries(entries: readonly (readonly [string, unknown])[]): object {
  const json = entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value ?? null)}`).join(",");
  return JSON.parse(`{${json}}`) as object;
}

it("is a turn that others can work with, or a refusal that names its place; and changes no prototype", async () => {
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: body }, { weight: 1, arbitrary: junk }), async (given) => {
      const outcome = await face.parse(given, context).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(ExcursorError);
        expect(outcome).toMatchObject({ kind: "invalid-request" });
        const isWhole = typeof given !== "object" || given === null || Array.isArray(given);
        if (!isWhole) expect((outcome as ExcursorError).field).toBeTypeOf("string");
        JSON.stringify(face.error(outcome as ExcursorError, "r"));
        return;
      }
      accepted++;
      const { turn } = outcome as Awaited<ReturnType<typeof face.parse>>;
      expect(Object.getPrototypeOf(turn)).toBe(Object.prototype);
      expect(["user", "tool"]).toContain(turn.messages.at(-1)?.role);
      historyKeys(turn.messages);
      expect(estimateInputTokens(turn)).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 2000 },
  );
  expect(accepted, "the generator reaches what is accepted").toBeGreaterThan(100);
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
});

it("a prototype sent along is not taken on", async () => {
  const given = JSON.parse(
    '{"model":"m","messages":[{"role":"user","content":"a","__proto__":{"x":1}}],"__proto__":{"n":2,"stream":true}}',
  );
  const parsed = await face.parse(given, context);
  expect(parsed.isStream).toBe(false);
  expect(Object.getPrototypeOf(parsed.turn.messages[0])).toBe(Object.prototype);
});
