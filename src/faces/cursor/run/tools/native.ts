import type { JsonObject as WireJson } from "@bufbuild/protobuf";
import type { JsonObject } from "../../../../core/turn.ts";
import { textOf } from "../../../../core/turn.ts";
import type { ToolCall } from "../../../../gen/agent/v1/tool_call_pb.ts";
import { type ExecReply, readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { type NativeExec, nativeDisplay, nativeRequest } from "../../../../wire/agent/exec/native-exec.ts";
import { type CursorTool, outcome, ToolProblem } from "./tool.ts";

interface NativeParts extends Pick<CursorTool, "definition" | "listedAs" | "isReadOnly"> {
  readonly exec: NativeExec;
  /** Translates the model's arguments into those of the exec. */
  readonly request: (args: JsonObject) => JsonObject;
  /** Adds the result to the display. */
  readonly shown: (display: ToolCall, reply: ExecReply, text: string) => ToolCall;
}

/** Makes a tool of which each call is one exec request. */
export function nativeTool({ exec, request, shown, ...tool }: NativeParts): CursorTool {
  const display: CursorTool["display"] = (args, callId) =>
    nativeDisplay(exec, tolerant(args, request) as WireJson, callId);
  return {
    ...tool,
    display,
    async run(args, site) {
      const reply = await site.exec(
        wellTyped(() => nativeRequest(exec, { ...(request(args) as WireJson), toolCallId: site.callId })),
      );
      const { content, isError } = readExecReply(reply);
      const text = textOf(content);
      return outcome(text === "" ? "(no result)" : text, isError, shown(display(args, site.callId), reply, text));
    },
  };
}

/** A display must not fail, whatever the model wrote. */
function tolerant(args: JsonObject, request: (args: JsonObject) => JsonObject): JsonObject {
  try {
    return request(args);
  } catch {
    return {};
  }
}

/** Arguments of a wrong type are the model's to correct. */
export function wellTyped<T>(build: () => T): T {
  try {
    return build();
  } catch (error) {
    if (error instanceof ToolProblem) throw error;
    throw new ToolProblem(`The arguments are wrong: ${error instanceof Error ? error.message : String(error)}`);
  }
}
