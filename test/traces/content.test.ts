import { describe, expect, it } from "vitest";
import type { Message, Turn } from "../../src/core/turn.ts";
import { contentAttributes } from "../../src/traces/content.ts";
import type { OtlpSpan } from "../../src/traces/otlp.ts";
import { Tracer } from "../../src/traces/tracer.ts";
import { requestRecord } from "../metrics/support/records.ts";

const turnOf = (messages: readonly Message[], system = ""): Turn => ({
  principal: { id: "owner", token: undefined },
  model: { id: "m", effort: undefined },
  system,
  messages,
  tools: [],
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
});

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

type Written = readonly { readonly role: string; readonly parts: readonly { readonly content: string }[] }[];

/** The attributes, with their JSON parsed. */
const read = (attributes: ReturnType<typeof contentAttributes>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "object" && "json" in value ? JSON.parse(value.json) : value,
    ]),
  );

describe("the content of a turn as attributes", () => {
  it("follows the conventions", () => {
    const call = { type: "tool-call", id: "c1", name: "look", args: { path: "/a" } } as const;
    const messages: readonly Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image", mediaType: "image/png", data: new Uint8Array(3) },
        ],
      },
      { role: "assistant", content: [{ type: "thinking", text: "hm", signature: undefined }, call] },
      { role: "tool", callId: "c1", content: [{ type: "text", text: "seen" }], isError: false },
    ];
    const message = { role: "assistant", content: [{ type: "text", text: "A cat." }, call] } as const;
    expect(
      read(contentAttributes({ turn: turnOf(messages, "Be brief."), answer: { message, reason: "tool-calls" } })),
    ).toEqual({
      "gen_ai.system_instructions": [{ type: "text", content: "Be brief." }],
      "gen_ai.input.messages": [
        {
          role: "user",
          parts: [
            { type: "text", content: "What is it?" },
            { type: "image", mime_type: "image/png", bytes: 3 },
          ],
        },
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "hm" },
            { type: "tool_call", id: "c1", name: "look", arguments: { path: "/a" } },
          ],
        },
        {
          role: "tool",
          parts: [{ type: "tool_call_response", id: "c1", response: [{ type: "text", content: "seen" }] }],
        },
      ],
      "gen_ai.output.messages": [
        {
          role: "assistant",
          parts: [
            { type: "text", content: "A cat." },
            { type: "tool_call", id: "c1", name: "look", arguments: { path: "/a" } },
          ],
          finish_reason: "tool_call",
        },
      ],
      "excursor.content.is_cut": undefined,
    });
  });

  it("has neither instructions nor an answer if there were none", () => {
    const attributes = contentAttributes({ turn: turnOf([user("hi")]), answer: undefined });
    expect(attributes["gen_ai.system_instructions"]).toBeUndefined();
    expect(attributes["gen_ai.output.messages"]).toBeUndefined();
  });

  it("is bounded and stays JSON: long texts are cut, and the oldest parts are left out", () => {
    // Each of these characters takes six bytes in JSON.
    const long = "\u0001".repeat(9000);
    const messages = [...Array.from({ length: 5000 }, (_, n) => user(`message ${n}`)), user(long)];
    const attributes = contentAttributes({ turn: turnOf(messages, "é".repeat(200_000)), answer: undefined });
    for (const value of Object.values(attributes)) {
      if (typeof value === "object" && "json" in value) {
        expect(Buffer.byteLength(value.json)).toBeLessThanOrEqual(64 * 1024);
      }
    }
    const found = read(attributes);
    const input = found["gen_ai.input.messages"] as Written;
    expect(input.at(-1)?.parts[0]?.content).toBe(`${long.slice(0, 8192)}…`);
    expect(input.at(-2)?.parts[0]?.content).toBe("message 4999");
    expect(input.length).toBeGreaterThan(50);
    expect(found["excursor.content.is_cut"]).toBe(true);
  });

  it("leaves out a part that is too large as a whole", () => {
    const args = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n]));
    const calls: Message = { role: "assistant", content: [{ type: "tool-call", id: "c", name: "look", args }] };
    const found = read(contentAttributes({ turn: turnOf([user("first"), calls, user("last")]), answer: undefined }));
    expect(found["gen_ai.input.messages"]).toEqual([{ role: "user", parts: [{ type: "text", content: "last" }] }]);
    expect(found["excursor.content.is_cut"]).toBe(true);
  });

  it("is in no span of a tracer that was not asked for it", () => {
    const spans: OtlpSpan[] = [];
    const content = { turn: turnOf([user("private words")], "private"), answer: undefined };
    new Tracer({ add: (more) => spans.push(...more) }).request(requestRecord(), content);
    expect(spans).toHaveLength(2);
    expect(JSON.stringify(spans)).not.toContain("private");
    new Tracer({ add: (more) => spans.push(...more) }, { wantsContent: true }).request(requestRecord(), content);
    const [server, model] = spans.slice(2).map((span) => JSON.stringify(span));
    expect(server).not.toContain("private");
    expect(model).toContain("private words");
  });
});
