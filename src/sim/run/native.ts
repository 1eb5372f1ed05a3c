import { create, type JsonObject } from "@bufbuild/protobuf";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import { nativeDisplay, nativeRequest } from "../../wire/agent/exec/native-exec.ts";
import { withMember } from "../../wire/agent/member.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { ExecKind } from "../script/step.ts";

/** Makes the exec request of a scripted step. A number stands for a member that may exist in no schema. */
export const scriptedRequest = (exec: ExecKind | number, args: JsonObject, callId: string): ExecServerMessage =>
  typeof exec === "number"
    ? withMember(ExecServerMessageSchema, exec)
    : parse(exec, () => nativeRequest(exec, fill(exec, args, callId)));

export const scriptedDisplay = (exec: ExecKind | number, args: JsonObject, callId: string): ToolCall =>
  typeof exec === "number"
    ? create(ToolCallSchema, { toolCallId: callId })
    : parse(exec, () => nativeDisplay(exec, fill(exec, args, callId), callId));

function parse<T>(exec: ExecKind, build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw new ConnectFailure("invalid_argument", `exec ${exec}: ${error instanceof Error ? error.message : error}.`);
  }
}

function fill(exec: ExecKind, args: JsonObject, callId: string): JsonObject {
  const filled: JsonObject = { ...args };
  if (!("toolCallId" in args) && !("tool_call_id" in args)) filled["toolCallId"] = callId;
  if (exec !== "shell" && exec !== "shell_stream") return filled;
  // The schema rejects a command that is not a string.
  const command = typeof args["command"] === "string" ? args["command"] : "";
  if (!("timeout" in args)) filled["timeout"] = 30_000;
  // The official client refuses a command without its parse result.
  if (!("parsingResult" in args) && !("parsing_result" in args)) filled["parsingResult"] = parseCommand(command);
  return filled;
}

/** Parses simple commands: words, joined by `&&`, `||`, `;` and `|`. */
function parseCommand(command: string): JsonObject {
  const parts = command.split(/&&|\|\||[;|]/).map((part) => part.trim());
  return {
    executableCommands: parts
      .filter((part) => part !== "")
      .map((part) => {
        const [name = "", ...words] = part.split(/\s+/);
        return { name, args: words.map((value) => ({ type: "word", value })), fullText: part };
      }),
    hasRedirects: /[<>]/.test(command),
    hasCommandSubstitution: /\$\(|`/.test(command),
  };
}
