import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/core/turn.ts";
import { createGeminiFace } from "../../../src/faces/gemini/face.ts";
import { toJsonSchema } from "../../../src/faces/gemini/request/json-schema.ts";
import { unwrapSignature, wrapSignature } from "../../../src/faces/gemini/signature.ts";
import { REQUEST_LIMITS } from "../../../src/faces/shared/request-limits.ts";
import { CallMemory } from "../../../src/faces/shared/tools/call-memory.ts";
import { context as anyContext } from "../openai-chat/support/requests.ts";
import { expectSoundParsing, hostile, key, or, withMore } from "../support/hostile.ts";

const context = { ...anyContext, path: { model: "m" } };
const face = createGeminiFace({ limits: REQUEST_LIMITS, memory: new CallMemory() }, false);
const contents = [{ role: "user", parts: [{ text: "hi" }] }];
const turnOf = async (over: object) => (await face.parse({ contents, ...over }, context)).turn;
const look = (parameters?: object) => [{ functionDeclarations: [{ name: "look", ...(parameters && { parameters }) }] }];

describe("a request of Gemini's API", () => {
  it("brings thoughts back with the upstream's signature, however they were cut", async () => {
    const parts = (...given: object[]) => ({ role: "model", parts: given });
    const { messages } = await turnOf({
      contents: [
        ...contents,
        parts({ text: "let ", thought: true }),
        parts({ text: "me see", thought: true }),
        parts({ text: "", thought: true, thoughtSignature: wrapSignature("sealed+/=") }, { text: "a" }),
        parts({ text: "foreign", thought: true, thoughtSignature: "Zm9yZWlnbg==" }, { text: "b" }),
        { role: "user", parts: [{ text: "next" }] },
      ],
    });
    expect(messages[1]?.content).toEqual([
      { type: "thinking", text: "let me see", signature: "sealed+/=" },
      { type: "text", text: "a" },
      { type: "thinking", text: "foreign", signature: undefined },
      { type: "text", text: "b" },
    ]);
    expect(unwrapSignature(wrapSignature("x").replaceAll("+", "-").replaceAll("/", "_"))).toBe("x");
  });

  it.each([
    [{ output: "seen" }, "seen", false],
    [{ result: { at: 1 } }, '{"at":1}', false],
    [{ error: "no eyes" }, "no eyes", true],
    [{ name: "look", content: "seen" }, "seen", false],
    [{ at: 1, error: "x" }, '{"at":1,"error":"x"}', false],
    [{}, "{}", false],
  ])("reads the result %j", async (response, text, isError) => {
    const called = { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] };
    const result = { role: "user", parts: [{ functionResponse: { name: "look", response } }] };
    const { messages } = await turnOf({ contents: [...contents, called, result] });
    expect(messages.at(-1)).toMatchObject({ role: "tool", content: [{ type: "text", text }], isError });
  });

  it("accepts snake case, but leaves arguments and schemas alone", async () => {
    const { system, tools, maxOutputTokens } = await turnOf({
      system_instruction: { parts: [{ text: "Be brief." }] },
      generation_config: { max_output_tokens: 5 },
      tools: [{ function_declarations: [{ name: "look", parameters: { type: "OBJECT", properties: { at_a: {} } } }] }],
    });
    expect([system, maxOutputTokens, tools[0]?.schema]).toEqual([
      "Be brief.",
      5,
      { type: "object", properties: { at_a: {} } },
    ]);
  });

  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ thinkingLevel: "HIGH" }, "high"],
    [{ thinkingBudget: 0 }, "none"],
    [{ thinkingBudget: -1 }, undefined],
    [{ thinkingBudget: 1000 }, "low"],
    [{ thinkingBudget: 20_000 }, "high"],
  ])("takes the effort from %j", async (thinkingConfig, effort) => {
    expect((await turnOf({ generationConfig: { thinkingConfig } })).model).toEqual({ id: "m", effort });
  });

  it.each<[object, object]>([
    [{ mode: "AUTO" }, { type: "auto" }],
    [{ mode: "NONE" }, { type: "none" }],
    [{ mode: "ANY" }, { type: "required" }],
    [
      { mode: "ANY", allowedFunctionNames: ["look"] },
      { type: "tool", name: "look" },
    ],
    [{ mode: "VALIDATED" }, { type: "auto" }],
  ])("takes the choice of tools from %j", async (functionCallingConfig, choice) => {
    expect((await turnOf({ tools: look(), toolConfig: { functionCallingConfig } })).toolChoice).toEqual(choice);
  });

  it.each<[object, string]>([
    [{ contents: [{ parts: [{}] }] }, "contents[0].parts[0]"],
    [{ contents: [...contents, { role: "model", parts: [{ text: "a" }] }] }, "contents[1].role"],
    [
      { contents: [{ parts: [{ inlineData: { mimeType: "application/pdf", data: "eHh4" } }] }] },
      "contents[0].parts[0].inlineData.data",
    ],
    [
      { contents: [{ parts: [{ fileData: { fileUri: "https://a/b.pdf" } }] }] },
      "contents[0].parts[0].fileData.fileUri",
    ],
    [
      { contents: [{ parts: [{ functionResponse: { name: "look", response: {} } }] }] },
      "contents[0].parts[0].functionResponse.name",
    ],
    [{ tools: look({ type: "STRING" }) }, "tools[0].functionDeclarations[0].parameters.type"],
    [{ tools: [...look(), ...look()] }, "tools[1].functionDeclarations[0].name"],
    [{ toolConfig: { functionCallingConfig: { mode: "ANY" } } }, "toolConfig.functionCallingConfig.mode"],
    [
      { toolConfig: { functionCallingConfig: { allowedFunctionNames: ["x"] } } },
      "toolConfig.functionCallingConfig.allowedFunctionNames[0]",
    ],
    [{ generationConfig: { candidateCount: 2 } }, "generationConfig.candidateCount"],
    [{ generationConfig: { responseModalities: ["IMAGE"] } }, "generationConfig.responseModalities"],
    [{ cachedContent: "cachedContents/1" }, "cachedContent"],
  ])("refuses %j by its field", async (over, field) => {
    await expect(turnOf(over)).rejects.toMatchObject({ kind: "invalid-request", field });
  });

  it("names what has no effect", async () => {
    const over = { safetySettings: [{}], tools: [{ googleSearch: {} }, ...look()] };
    const { ignored, turn } = await face.parse({ contents, ...over }, context);
    expect([ignored, turn.tools.length]).toEqual([["safetySettings", "tools[0].googleSearch"], 1]);
  });

  it("is a turn that others can work with, or a refusal that names its place; and changes no prototype (FUZ-05)", async () => {
    const part = fc.oneof(
      fc.record({ text: or(fc.string()) }),
      fc.record({ text: fc.string(), thought: or(fc.boolean()), thoughtSignature: or(fc.base64String()) }),
      fc.record({ inlineData: or(fc.record({ mimeType: or(fc.constant("image/png")), data: or(fc.constant("u")) })) }),
      fc.record({ functionCall: or(fc.record({ name: or(key), args: or(hostile) })) }),
      fc.record({ functionResponse: or(fc.record({ name: or(key), response: or(hostile) })) }),
    );
    const content = fc.record(
      { role: or(fc.constantFrom("user", "user", "model")), parts: or(fc.array(or(part), { maxLength: 3 })) },
      { requiredKeys: ["parts"] },
    );
    const tool = fc.record({
      functionDeclarations: or(fc.array(or(fc.record({ name: key, parameters: or(hostile) })))),
    });
    const body = withMore(
      fc.record(
        {
          contents: or(fc.array(or(content), { maxLength: 5 })),
          tools: or(fc.array(or(tool), { maxLength: 2 })),
          system_instruction: or(content),
          generationConfig: or(fc.record({ responseSchema: or(hostile), thinkingConfig: or(hostile) })),
        },
        { requiredKeys: ["contents"] },
      ),
    );
    await expectSoundParsing(face, context, body);
  });
});

it("Google's form of a schema becomes JSON Schema, and JSON Schema stays", () => {
  const google: JsonObject = {
    type: "OBJECT",
    properties: {
      type: { type: "STRING", format: "enum", enum: ["a"], nullable: true },
      list: { type: "ARRAY", items: { type: "INTEGER" }, minItems: "1" },
      either: { anyOf: [{ type: "NUMBER" }, { type: "NULL" }] },
    },
    propertyOrdering: ["type", "list"],
  };
  const schema: JsonObject = {
    type: "object",
    properties: {
      type: { type: ["string", "null"], enum: ["a", null] },
      list: { type: "array", items: { type: "integer" }, minItems: 1 },
      either: { anyOf: [{ type: "number" }, { type: "null" }] },
    },
  };
  expect(toJsonSchema(google)).toEqual(schema);
  expect(toJsonSchema(schema)).toEqual(schema);
});
