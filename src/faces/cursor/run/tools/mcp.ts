import { create, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject } from "../../../../core/turn.ts";
import { ExecServerMessageSchema } from "../../../../gen/agent/v1/exec_pb.ts";
import type { McpToolDefinition } from "../../../../gen/agent/v1/mcp_pb.ts";
import { readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { mcpArgs, mcpDisplay } from "../../../../wire/agent/exec/mcp-call.ts";
import { parseArgs } from "../../../../wire/agent/state/root-messages.ts";
import { type CursorTool, resultOf } from "./tool.ts";

/** A tool of an MCP server of the client, or one that its program defines. */
export function mcpTool(name: string, tool: McpToolDefinition): CursorTool {
  const argsOf = (args: JsonObject, callId: string) => mcpArgs(tool, args as never, callId);
  return {
    definition: { name, description: tool.description, schema: schemaOf(tool) },
    listedAs: ["mcp_tool_call"],
    isReadOnly: false,
    display: (args, callId) => mcpDisplay(argsOf(args, callId)),
    async run(args, site) {
      const value = argsOf(args, site.callId);
      const reply = await site.exec(create(ExecServerMessageSchema, { message: { case: "mcpArgs", value } }));
      const { content, isError } = readExecReply(reply);
      return { content, isError, display: mcpDisplay(value, resultOf(reply, "mcpResult")?.result, reply.error) };
    },
  };
}

function schemaOf({ inputSchema, inputSchemaJson }: McpToolDefinition): JsonObject {
  const schema = inputSchema ? toJson(ValueSchema, inputSchema) : inputSchemaJson ? parseArgs(inputSchemaJson) : {};
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  return isObject && Object.keys(schema).length > 0 ? (schema as JsonObject) : { type: "object", properties: {} };
}
