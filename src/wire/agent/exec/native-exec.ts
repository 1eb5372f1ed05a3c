import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../../gen/agent/v1/exec_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../../gen/agent/v1/tool_call_pb.ts";

/** The members of native tools in requests, and in updates and states. */
const NATIVE_EXECS = {
  shell: { request: "shell_args", display: "shell_tool_call" },
  shell_stream: { request: "shell_stream_args", display: "shell_tool_call" },
  read: { request: "read_args", display: "read_tool_call" },
  write: { request: "write_args", display: "edit_tool_call" },
  delete: { request: "delete_args", display: "delete_tool_call" },
  ls: { request: "ls_args", display: "ls_tool_call" },
  grep: { request: "grep_args", display: "grep_tool_call" },
  fetch: { request: "fetch_args", display: "fetch_tool_call" },
  diagnostics: { request: "diagnostics_args", display: "read_lints_tool_call" },
} as const;

export type NativeExec = keyof typeof NATIVE_EXECS;

/** What the real backend asks for with every shell command. */
export const SHELL_LIMITS = { hardTimeout: 86_400_000, fileOutputThresholdBytes: 40_000, closeStdin: true } as const;

const LOOSE = { ignoreUnknownFields: true };

/** Makes an exec request from arguments in protobuf JSON. Throws if a field has the wrong type. */
export const nativeRequest = (exec: NativeExec, args: JsonObject): ExecServerMessage =>
  fromJson(ExecServerMessageSchema, { [NATIVE_EXECS[exec].request]: args }, LOOSE);

/** Returns the same call for updates and the state. */
export function nativeDisplay(exec: NativeExec, args: JsonObject, callId: string): ToolCall {
  const shown: JsonValue = exec === "diagnostics" ? { paths: [args["path"] ?? ""] } : args;
  return fromJson(ToolCallSchema, { [NATIVE_EXECS[exec].display]: { args: shown }, toolCallId: callId }, LOOSE);
}
