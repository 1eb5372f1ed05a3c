import { expect, it } from "vitest";
import { readToolResult } from "../../../src/mcp/tools/tool-result.ts";

const text = (value: string) => ({ type: "text", text: value });
const png = Buffer.from("png").toString("base64");

it.each([
  [{ content: [{ type: "text", text: "a" }] }, [text("a")]],
  [
    { content: [{ type: "image", mimeType: "image/png", data: png }] },
    [{ type: "image", mediaType: "image/png", data: Buffer.from("png") }],
  ],
  [
    { content: [{ type: "audio", mimeType: "audio/wav", data: png }] },
    [text("[audio, audio/wav: it cannot be passed on]")],
  ],
  [
    { content: [{ type: "resource_link", uri: "file:///a", name: "a", description: "the a" }] },
    [text("[a: file:///a] the a")],
  ],
  [{ content: [{ type: "resource", resource: { uri: "x:a", text: "words" } }] }, [text("words")]],
  [
    { content: [{ type: "resource", resource: { uri: "x:a", blob: png, mimeType: "image/png" } }] },
    [{ type: "image", mediaType: "image/png", data: Buffer.from("png") }],
  ],
  [
    { content: [{ type: "resource", resource: { uri: "x:a", blob: png } }] },
    [text("[x:a, unknown type: it cannot be passed on]")],
  ],
  [{ content: [], structuredContent: { a: 1 } }, [text('{"a":1}')]],
  [{ content: [{ type: "text", text: "one" }], structuredContent: { a: 1 } }, [text("one")]],
])("%j is told as it can be", (result, content) => {
  expect(readToolResult(result as never)).toEqual({ content, isError: false });
});

it("an error is a result, and an image that is too large is a word about it", () => {
  expect(readToolResult({ content: [], isError: true })).toEqual({ content: [], isError: true });
  const data = Buffer.alloc(6 * 1024 * 1024).toString("base64");
  expect(readToolResult({ content: [{ type: "image", mimeType: "image/png", data }] }).content).toEqual([
    text("[an image of 6291456 bytes: it is too large to be passed on]"),
  ]);
});
