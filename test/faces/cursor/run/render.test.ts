import { create, fromBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { EventRenderer } from "../../../../src/faces/cursor/run/render.ts";
import { AgentServerMessageSchema } from "../../../../src/gen/agent/v1/run_pb.ts";
import { ToolCallSchema } from "../../../../src/gen/agent/v1/tool_call_pb.ts";

it("shows long arguments as they grow, without sending them again with each piece", () => {
  const renderer = new EventRenderer(() => create(ToolCallSchema));
  const args = { content: "x".repeat(100_000) };
  const pieces = JSON.stringify(args).match(/.{1,20}/g) ?? [];
  const frames = [
    ...renderer.render({ type: "tool-call-start", id: "c", name: "write" }),
    ...pieces.flatMap((json) => renderer.render({ type: "tool-call-delta", id: "c", json })),
    ...renderer.render({ type: "tool-call", id: "c", name: "write", args }),
  ];
  const shown = frames.flatMap((frame) => {
    const { message } = fromBinary(AgentServerMessageSchema, frame);
    const update = message.case === "interactionUpdate" ? message.value.message : undefined;
    return update?.case === "partialToolCall" ? [update.value.argsTextDelta] : [];
  });
  expect(shown.length).toBeGreaterThan(20);
  expect(shown.join("").length).toBeLessThan(20 * 100_000);
  for (const [index, text] of shown.entries()) expect(text.startsWith(shown[index - 1] ?? "")).toBe(true);
  expect(shown.at(-1)).toBe(JSON.stringify(args));
});
