import { create, toBinary } from "@bufbuild/protobuf";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { encodeFrame } from "../../src/wire/connect/envelope.ts";

export const TOOL_NAME = "look";

/** The frames that call the tool: the number of calls, and the call. */
export const CALL_FRAMES: readonly Buffer[] = [
  create(AgentServerMessageSchema, {
    message: {
      case: "interactionUpdate",
      value: { message: { case: "toolRequestsListed", value: { callCount: 1 } } },
    },
  }),
  create(AgentServerMessageSchema, {
    message: {
      case: "execServerMessage",
      value: { id: 1, message: { case: "mcpArgs", value: { toolName: TOOL_NAME, toolCallId: "c" } } },
    },
  }),
].map((message) => Buffer.from(encodeFrame(toBinary(AgentServerMessageSchema, message))));
