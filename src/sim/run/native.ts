import { create, type JsonObject } from "@bufbuild/protobuf";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import type { ExecReply } from "../../wire/agent/exec/exec-result.ts";
import { nativeDisplay, nativeRequest, SHELL_LIMITS } from "../../wire/agent/exec/native-exec.ts";
import { withMember } from "../../wire/agent/member.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { ExecKind } from "../script/step.ts";

const TIMEOUT_MS = 30_000;

/** A native exec that is one request. */
type SingleExec = Exclude<ExecKind, "edit">;

/** Makes the exec request of a scripted step. A number stands for a member that may exist in no schema. */
export const scriptedRequest = (exec: SingleExec | number, args: JsonObject, callId: string): ExecServerMessage =>
  typeof exec === "number"
    ? withMember(ExecServerMessageSchema, exec)
    : parse(exec, () => nativeRequest(exec, fill(exec, args, callId)));

export const scriptedDisplay = (exec: ExecKind | number, args: JsonObject, callId: string): ToolCall =>
  typeof exec === "number"
    ? create(ToolCallSchema, { toolCallId: callId })
    : parse(exec, () => nativeDisplay(exec === "edit" ? "write" : exec, fill(exec, args, callId), callId));

/** Edits a file as the real backend does: reads it and writes it, both under the id of the one call. */
export async function scriptedEdit(
  { path = "", oldText, newText }: JsonObject,
  callId: string,
  exec: (request: ExecServerMessage) => Promise<ExecReply>,
): Promise<ExecReply> {
  const reading = await exec(scriptedRequest("read", { path }, callId));
  const result = reading.messages.at(-1)?.message;
  if (result?.case !== "readResult" || result.value.result.case !== "success") return reading;
  const { output } = result.value.result.value;
  const before = output.case === "content" ? output.value : "";
  const fileText = before.replace(String(oldText ?? ""), () => String(newText ?? ""));
  return exec(scriptedRequest("write", { path, fileText }, callId));
}

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
  for (const [name, value] of Object.entries({ timeout: TIMEOUT_MS, ...SHELL_LIMITS }))
    if (!(name in args || snakeCase(name) in args)) filled[name] = value;
  // The schema rejects a command that is not a string.
  const command = typeof args["command"] === "string" ? args["command"] : "";
  // The official client refuses a command without its parse result.
  if (!("parsingResult" in args) && !("parsing_result" in args)) filled["parsingResult"] = parseCommand(command);
  return filled;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

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
