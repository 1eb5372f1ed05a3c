import { describe, expect, it } from "vitest";
import type { Message } from "../../../../src/core/turn.ts";
import { rootMessages } from "../../../../src/wire/agent/state/root-messages.ts";

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const calls = (...ids: string[]): Message => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool-call", id, name: `tool-${id}`, args: {} })),
});
const result = (callId: string, text = callId): Message => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError: false,
});
describe("the prompt entries", () => {
  it("name the tool of a result, and leave out what says nothing", () => {
    const roots = rootMessages([user("a"), { role: "assistant", content: [] }, calls("1"), result("1")]);
    expect(roots.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(roots.at(-1)).toMatchObject({ content: [{ toolName: "tool-1", result: "1" }] });
  });

  it("show the images of results after the results", () => {
    const image = { type: "image" as const, mediaType: "image/png", data: Uint8Array.of(1, 2, 3) };
    const shown: Message = { role: "tool", callId: "1", content: [image], isError: false };
    const roots = rootMessages([user("a"), calls("1", "2"), shown, result("2"), user("b")]);
    expect(roots.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user", "user"]);
    expect(JSON.stringify(roots[4])).toContain("data:image/png;base64,AQID");
  });

  it("fold the oldest where there are too many: the task stays, calls keep their results, images become words", () => {
    const image = { type: "image" as const, mediaType: "image/png", data: new Uint8Array(9000) };
    const task: Message = { role: "user", content: [{ type: "text", text: "the task" }, image] };
    const steps = Array.from({ length: 150 }, (_, n) => [calls(String(n)), result(String(n))]).flat();
    const roots = rootMessages([task, ...steps]);
    expect(roots.length).toBeLessThanOrEqual(192);
    expect(JSON.stringify(roots[0])).toContain("earlier_conversation");
    expect(JSON.stringify(roots[0])).not.toContain("AAAAAAAA");
    expect(JSON.stringify(roots[1])).toContain("the task");
    expect(roots[2]?.["role"]).toBe("assistant");
    expect(roots.filter(({ role }) => role === "assistant").length).toBeGreaterThan(90);
  });

  it.each([0, 1, 63, 64, 65, 200])(
    "have every text, call and result once and in order, folded or not: %d steps",
    (steps) => {
      const messages = Array.from({ length: steps }, (_, n): Message[] => [
        user(`asked-${n}`),
        {
          role: "assistant",
          content: [
            { type: "text", text: `said-${n}` },
            { type: "tool-call", id: String(n), name: "look", args: { at: `called-${n}` } },
          ],
        },
        result(String(n), `found-${n}`),
      ]);
      const roots = rootMessages(messages.flat());
      expect(roots.length).toBeLessThanOrEqual(192);
      expect(roots.length).toBeGreaterThanOrEqual(Math.min(3 * steps, 190));
      const parts = JSON.stringify(roots).match(/(?:asked|said|called|found)-\d+/g) ?? [];
      const expected = ["asked", "said", "called", "found"];
      expect(parts).toEqual(messages.flatMap((_, n) => expected.map((part) => `${part}-${n}`)));
    },
  );
});
