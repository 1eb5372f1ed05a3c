import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import { ConnectFailure } from "../connect-failure.ts";
import type { ExecKind } from "../script/step.ts";
import { withMember } from "./member.ts";

/** Under which member each native request travels, and how the same call is displayed. */
const NATIVE: Readonly<Record<ExecKind, { request: string; display: string }>> = {
  shell: { request: "shell_args", display: "shell_tool_call" },
  shell_stream: { request: "shell_stream_args", display: "shell_tool_call" },
  read: { request: "read_args", display: "read_tool_call" },
  write: { request: "write_args", display: "edit_tool_call" },
  delete: { request: "delete_args", display: "delete_tool_call" },
  ls: { request: "ls_args", display: "ls_tool_call" },
  grep: { request: "grep_args", display: "grep_tool_call" },
  fetch: { request: "fetch_args", display: "fetch_tool_call" },
  diagnostics: { request: "diagnostics_args", display: "read_lints_tool_call" },
};

/** The exec request of a scripted step; a number asks for a member that may exist in no schema. */
export function nativeRequest(exec: ExecKind | number, args: JsonObject, callId: string): ExecServerMessage {
  if (typeof exec === "number") return withMember(ExecServerMessageSchema, exec);
  return parse(exec, () =>
    fromJson(ExecServerMessageSchema, { [NATIVE[exec].request]: fill(exec, args, callId) }, LOOSE),
  );
}

/** The call as display updates and the history show it. */
export function nativeDisplay(exec: ExecKind | number, args: JsonObject, callId: string): ToolCall {
  if (typeof exec === "number") return create(ToolCallSchema, { toolCallId: callId });
  const shown: JsonValue = exec === "diagnostics" ? { paths: [args["path"] ?? ""] } : fill(exec, args, callId);
  return parse(exec, () =>
    fromJson(ToolCallSchema, { [NATIVE[exec].display]: { args: shown }, toolCallId: callId }, LOOSE),
  );
}

const LOOSE = { ignoreUnknownFields: true };

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
  // What is no text is refused by the schema.
  const command = typeof args["command"] === "string" ? args["command"] : "";
  if (!("timeout" in args)) filled["timeout"] = 30_000;
  // The official client refuses to run a command that comes without its parse.
  if (!("parsingResult" in args) && !("parsing_result" in args)) filled["parsingResult"] = parseCommand(command);
  return filled;
}

/** A parse good enough for simple commands: words, joined by `&&`, `||`, `;` and `|`. */
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
