import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { NO_THOUGHTS } from "../../../src/core/thinking/thoughts.ts";
import { createChatFace, createGenerateFace } from "../../../src/faces/ollama/face.ts";
import { REQUEST_LIMITS } from "../../../src/faces/shared/request-limits.ts";
import { CallMemory } from "../../../src/faces/shared/tools/call-memory.ts";
import { done, text } from "../../core/support/turns.ts";
import { context } from "../openai-chat/support/requests.ts";
import { expectSoundParsing, hostile, key, or, withMore } from "../support/hostile.ts";

const options = {
  limits: REQUEST_LIMITS,
  thoughts: NO_THOUGHTS,
  memory: new CallMemory(),
  checkModel: async (name: string) => {
    if (name !== "m") throw new ExcursorError("model-not-found", "There is no such model.");
  },
};
const face = createChatFace(options);
const messages = [{ role: "user", content: "hi" }];
const parse = (over: object) => face.parse({ model: "m", messages, ...over }, context);

describe("a request of Ollama's API", () => {
  it("streams unless it says otherwise, and drops the default tag", async () => {
    const { isStream, turn } = await parse({ model: "m:latest", keep_alive: 0 });
    expect([isStream, turn.model]).toEqual([true, { id: "m", effort: undefined }]);
    expect((await parse({ stream: false })).isStream).toBe(false);
  });

  it("takes limits and sampling from its options", async () => {
    const given = { num_predict: 5, stop: "x", temperature: 0.5, repeat_penalty: 1.1, num_ctx: 4096 };
    const { maxOutputTokens, stop, sampling } = (await parse({ options: given })).turn;
    expect([maxOutputTokens, stop]).toEqual([5, ["x"]]);
    expect(sampling).toEqual({ temperature: 0.5, repetition_penalty: 1.1 });
    expect((await parse({ options: { num_predict: -1 } })).turn.maxOutputTokens).toBeUndefined();
  });

  it.each<[object, string]>([
    [{ messages: [...messages, { role: "assistant", content: "a" }] }, "messages[1].role"],
    [{ messages: [{ role: "tool", content: "a" }] }, "messages[0]"],
    [{ messages: [{ role: "user", content: "a", images: ["bad"] }] }, "messages[0].images[0]"],
    [{ think: "very" }, "think"],
    [{ format: "xml" }, "format"],
    [{ options: { temperature: "hot" } }, "options.temperature"],
    [{ tools: [{ type: "function", function: { name: "" } }] }, "tools[0].function.name"],
    [{ context: [1] }, "context"],
  ])("refuses %j by its field", async (over, field) => {
    await expect(parse(over)).rejects.toMatchObject({ kind: "invalid-request", field });
  });

  it("generates from a prompt, and names what has no effect", async () => {
    const generate = createGenerateFace(options);
    const parsed = await generate.parse({ model: "m", prompt: "hi", system: "Be brief.", raw: true }, context);
    expect([parsed.turn.system, parsed.ignored]).toEqual(["Be brief.", ["raw"]]);
  });

  it.each<[unknown, string]>([
    [undefined, "load"],
    ["5m", "load"],
    [-1, "load"],
    ["10s", "load"],
    [0, "unload"],
    ["0", "unload"],
    ["0s", "unload"],
  ])(
    "without a question and with keep_alive %j: %s, in both forms, and the model must exist",
    async (keep_alive, reason) => {
      const generate = createGenerateFace(options);
      const asked = [
        await parse({ messages: [], keep_alive }),
        await generate.parse({ model: "m", keep_alive }, context),
      ];
      for (const { isUnasked, stream, collect } of asked) {
        expect(isUnasked).toBe(true);
        const lines = stream()
          .step([done("stop")])
          .trimEnd()
          .split("\n");
        expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ model: "m", done: true, done_reason: reason }]);
        const collector = collect();
        collector.step([done("stop")]);
        expect(collector.body()).toMatchObject({ done: true, done_reason: reason });
      }
      await expect(parse({ model: "n", messages: [], keep_alive })).rejects.toMatchObject({ kind: "model-not-found" });
    },
  );

  it("keeps a stream alive with lines that every client can read", async () => {
    const renderer = (await parse({})).stream();
    const line = JSON.parse(renderer.keepAlive ?? "") as object;
    expect(line).toMatchObject({ model: "m", message: { role: "assistant", content: "" }, done: false });
    const lines = renderer
      .step([text("a\nb"), done("stop")])
      .trimEnd()
      .split("\n");
    expect(lines.map((one) => (JSON.parse(one) as { done: boolean }).done)).toEqual([false, true]);
  });

  it("is a turn that others can work with, or a refusal that names its place; and changes no prototype (FUZ-05)", async () => {
    const call = fc.record({
      id: or(fc.constant("1")),
      function: or(fc.record({ name: or(key), arguments: or(hostile) })),
    });
    const message = fc.record(
      {
        role: or(fc.constantFrom("system", "user", "user", "assistant", "tool")),
        content: or(fc.string()),
        images: or(fc.array(fc.constantFrom("u", "bad"), { maxLength: 1 })),
        tool_calls: fc.array(or(call), { maxLength: 2 }),
        tool_name: or(key),
      },
      { requiredKeys: ["role", "content"] },
    );
    const body = withMore(
      fc.record(
        {
          model: or(fc.constant("m")),
          messages: or(fc.array(or(message), { maxLength: 5 })),
          format: or(hostile),
          options: or(hostile),
        },
        { requiredKeys: ["model", "messages"] },
      ),
    );
    // Any name is a model here: errors must name their field.
    await expectSoundParsing(createChatFace({ ...options, checkModel: async () => {} }), context, body);
  });
});
