import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type JsonObject, type ToolDefinition, type ToolMessage, textOf } from "../../../../../../src/core/turn.ts";
import { mapExec, type NativeCall } from "../../../../../../src/drivers/cursor/replies/native/map-exec.ts";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../../../../../src/gen/agent/v1/exec_pb.ts";
import { readExecReply } from "../../../../../../src/wire/agent/exec/exec-result.ts";

export type Asked = MessageInitShape<typeof ExecServerMessageSchema>["message"] & object;

export const exec = (message: Asked): ExecServerMessage =>
  create(ExecServerMessageSchema, { id: 7, execId: "exec-7", message });

/** A tool from a terse table: `?` marks what is optional, `[]` a list, `#` a number, `!` a boolean. */
export function tool(name: string, ...properties: readonly string[]): ToolDefinition {
  const types: Readonly<Record<string, JsonObject>> = {
    "[]": { type: "array", items: { type: "string" } },
    "#": { type: "integer" },
    "!": { type: "boolean" },
  };
  const parsed = properties.map((property) => {
    const [, key = "", mark = "", optional] = /^([\w-]+?)(\[\]|#|!)?(\?)?$/.exec(property) ?? [];
    return { key, schema: types[mark] ?? { type: "string" }, isRequired: optional === undefined };
  });
  return {
    name,
    description: "",
    schema: {
      type: "object",
      properties: Object.fromEntries(parsed.map(({ key, schema }) => [key, schema])),
      required: parsed.filter(({ isRequired }) => isRequired).map(({ key }) => key),
    },
  };
}

export const said = (text: string, isError = false): ToolMessage => ({
  role: "tool",
  callId: "call",
  content: [{ type: "text", text }],
  isError,
});

export function call(message: Asked, ...tools: readonly ToolDefinition[]): NativeCall {
  const mapped = mapExec(exec(message), tools);
  if (!mapped) throw new Error("There is no such tool.");
  return mapped;
}

/** What the model reads of what the client said. */
export function read(mapped: NativeCall, text: string, isError = false) {
  const { content, ...rest } = readExecReply({ messages: mapped.reply(said(text, isError)) });
  return { text: textOf(content), ...rest };
}
