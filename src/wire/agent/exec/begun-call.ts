import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ToolCall, ToolCallSchema } from "../../../gen/agent/v1/tool_call_pb.ts";

/** Returns a call of which only the tool is known, as it is shown before its arguments come. */
export function begunCall({ tool, toolCallId = "" }: ToolCall): ToolCall {
  const begun = { case: tool.case, value: {} } as MessageInitShape<typeof ToolCallSchema>["tool"] & object;
  return create(ToolCallSchema, { toolCallId, ...(tool.case && { tool: begun }) });
}
