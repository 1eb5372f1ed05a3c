import { describe, expect, test } from "vitest";
import type { CapturedMessage } from "../../src/dashboard/captured-messages.ts";
import { compareRequests } from "../../ui/captured/compare-requests.ts";
import { readAnswer, readRequest } from "../../ui/captured/read-messages.ts";

const PNG = "iVBORw0KGgo=";
const IMAGE = { type: "image", url: `data:image/png;base64,${PNG}` };

describe("the messages of a request", () => {
  test.each([
    [
      "Chat Completions",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "hi" },
              { type: "image_url", image_url: { url: IMAGE.url } },
            ],
          },
        ],
      },
    ],
    [
      "Responses",
      {
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "hi" },
              { type: "input_image", image_url: IMAGE.url },
            ],
          },
        ],
      },
    ],
    [
      "Messages",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "hi" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
            ],
          },
        ],
      },
    ],
    [
      "Gemini",
      { contents: [{ role: "user", parts: [{ text: "hi" }, { inlineData: { mimeType: "image/png", data: PNG } }] }] },
    ],
    ["Ollama", { messages: [{ role: "user", content: "hi", images: [PNG] }] }],
  ])("of %s", (_, body) => {
    expect(readRequest(body)).toEqual([{ role: "user", parts: [{ type: "text", text: "hi" }, IMAGE] }]);
  });

  test("with instructions, tool calls and results", () => {
    const said = readRequest({
      system: "be kind",
      messages: [
        { role: "assistant", content: null, tool_calls: [{ function: { name: "look" } }] },
        { role: "user", content: [{ type: "tool_result", content: "x" }] },
      ],
    });
    expect(said.map(({ role, parts }) => [role, parts.map(({ type }) => type)])).toEqual([
      ["system", ["text"]],
      ["assistant", ["data"]],
      ["user", ["data"]],
    ]);
  });

  test.each([
    "https://example.com/x.png",
    "data:image/svg+xml;base64,PHN2Zz4=",
    "data:text/html;base64,PHA+",
    "javascript:alert(1)",
  ])("SEC-46 shows %s as text", (url) => {
    const [said] = readRequest({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] });
    expect(said?.parts).toEqual([{ type: "data", title: "image, not shown", text: url }]);
  });

  test.each([undefined, null, 1, "text", [], { messages: 1 }, { messages: [null, 1, "x"] }, { input: [[[]]] }])(
    "of %j do not break the page",
    (body) => {
      expect(Array.isArray(readRequest(body))).toBe(true);
    },
  );
});

const received = (...values: unknown[]): CapturedMessage[] =>
  values.map((value) => ({
    ms: 0,
    direction: "received",
    kind: "event",
    bytes: 0,
    value,
    unknown: null,
    isCut: false,
  }));

test.each([
  ["/v1/chat/completions", [{ choices: [{ delta: { content: "a" } }] }, { choices: [{ delta: { content: "b" } }] }]],
  ["/v1/chat/completions", [{ choices: [{ message: { role: "assistant", content: "ab" } }] }]],
  [
    "/v1/responses",
    [
      { type: "response.output_text.delta", delta: "a" },
      { type: "response.output_text.delta", delta: "b" },
    ],
  ],
  ["/v1/responses", [{ output: [{ type: "message", content: [{ type: "output_text", text: "ab" }] }] }]],
  ["/v1/messages", [{ delta: { text: "a" } }, { delta: { text: "b" } }]],
  ["/v1/messages", [{ content: [{ type: "text", text: "ab" }] }]],
  ["/v1beta/models/x:streamGenerateContent?alt=sse", [{ candidates: [{ content: { parts: [{ text: "ab" }] } }] }]],
  ["/api/chat", [{ text: '{"message":{"content":"a"}}\n{"message":{"content":"b"}}\n' }]],
])("the answer of %s", (path, values) => {
  expect(readAnswer(path, received(...values)).parts).toEqual([{ type: "text", text: "ab" }]);
});

test("what changed since the request before", () => {
  const [a, b, c] = ["a", "b", "c"].map((content) => ({ role: "user", content }));
  const change = compareRequests({ model: "x", messages: [a, b] }, { model: "y", messages: [a, c, b] });
  expect(change).toMatchObject({
    same: 1,
    removed: [{ parts: [{ text: "b" }] }],
    options: [{ before: '"x"', after: '"y"' }],
  });
  expect(change.added).toHaveLength(2);
});
