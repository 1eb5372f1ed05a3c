import { posix, win32 } from "node:path";
import { create, type MessageInitShape, toJson, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { type JsonObject, textOf } from "../../../../core/turn.ts";
import type { ExecClientMessage } from "../../../../gen/agent/v1/exec_pb.ts";
import { ShellResultSchema } from "../../../../gen/agent/v1/exec_shell_pb.ts";
import { ShellCommandParsingResultSchema } from "../../../../gen/agent/v1/shell_command_pb.ts";
import type { ToolCall } from "../../../../gen/agent/v1/tool_call_pb.ts";
import { type ExecReply, readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { nativeDisplay, nativeRequest, SHELL_LIMITS } from "../../../../wire/agent/exec/native-exec.ts";
import { wellTyped } from "./native.ts";
import { parseShell } from "./parse-shell.ts";
import { type CursorTool, objectSchema, outcome, pick, type ToolSite, textArg, toolCall } from "./tool.ts";

const TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** Runs a command. Its output is shown as it comes; approval is the client's business. */
export const shellTool: CursorTool = {
  definition: {
    name: "shell",
    description: "Runs a shell command in the workspace and returns its output and exit code.",
    schema: objectSchema(
      {
        command: { type: "string" },
        working_directory: { type: "string", description: "The workspace if absent" },
        timeout_ms: { type: "integer", description: `Default ${TIMEOUT_MS}, at most ${MAX_TIMEOUT_MS}` },
        description: { type: "string", description: "What the command does, in a few words" },
      },
      "command",
    ),
  },
  listedAs: ["shell_tool_call"],
  isReadOnly: false,
  display: (args, callId) => nativeDisplay("shell", tolerantArgs(args) as WireJson, callId),
  async run(args, site) {
    const command = textArg(args, "command");
    const asked = typeof args["timeout_ms"] === "number" ? args["timeout_ms"] : TIMEOUT_MS;
    const request = wellTyped(() =>
      nativeRequest("shell_stream", {
        ...SHELL_LIMITS,
        ...(shellArgs(args) as WireJson),
        // Without one, the official client runs the command wherever its own process was started.
        workingDirectory: directoryOf(args, site.workspace),
        toolCallId: site.callId,
        timeout: Math.max(1, Math.min(MAX_TIMEOUT_MS, Math.round(asked))),
        parsingResult: toJson(ShellCommandParsingResultSchema, parseShell(command)),
      }),
    );
    const reply = await site.exec(request, (message) => showOutput(message, site));
    const { content, isError } = readExecReply(reply);
    const text = textOf(content);
    return outcome(text === "" ? "(no output)" : text, isError, displayOf(args, reply, text, site.callId));
  },
};

function directoryOf({ working_directory: asked }: JsonObject, workspace = ""): string {
  if (typeof asked !== "string" || asked === "") return workspace;
  // The client may run on another system than we do.
  return posix.isAbsolute(asked) || win32.isAbsolute(asked) || workspace === "" ? asked : `${workspace}/${asked}`;
}

const shellArgs = (args: JsonObject): JsonObject => ({
  ...pick(args, "description"),
  command: textArg(args, "command"),
  ...(typeof args["working_directory"] === "string" && { workingDirectory: args["working_directory"] }),
});

const tolerantArgs = (args: JsonObject): JsonObject =>
  typeof args["command"] === "string" ? shellArgs({ ...args, description: null }) : {};

function showOutput({ message }: ExecClientMessage, site: ToolSite): void {
  if (message.case !== "shellStream") return;
  const { event } = message.value;
  if (event.case !== "stdout" && event.case !== "stderr") return;
  const delta = { case: event.case, value: { content: event.value.data } } as const;
  const toolCallDelta = { delta: { case: "shellToolCallDelta" as const, value: { delta } } };
  site.show({
    case: "toolCallDelta",
    value: { callId: site.callId, toolCallDelta, modelCallId: `model_${site.callId}` },
  });
}

function displayOf(args: JsonObject, reply: ExecReply, text: string, callId: string): ToolCall {
  const display = shellTool.display(args, callId);
  if (display.tool.case !== "shellToolCall") return display;
  const result = create(ShellResultSchema, { result: shownResult(textArg(args, "command"), reply, text) });
  return toolCall(callId, { case: "shellToolCall", value: { ...display.tool.value, result } });
}

/** Joins the events of a shell stream to the result that displays have. */
function shownResult(
  command: string,
  reply: ExecReply,
  text: string,
): MessageInitShape<typeof ShellResultSchema>["result"] & object {
  const streams = { stdout: "", stderr: "" };
  for (const { message } of reply.messages) {
    if (message.case !== "shellStream") continue;
    const { event } = message.value;
    if (event.case === "stdout" || event.case === "stderr") streams[event.case] += event.value.data;
    if (event.case === "rejected") return { case: "rejected", value: event.value };
    if (event.case !== "exit") continue;
    const { code: exitCode, aborted } = event.value;
    if (exitCode === 0) return { case: "success", value: { command, exitCode, ...streams } };
    return { case: "failure", value: { command, exitCode, aborted, ...streams } };
  }
  return { case: "spawnError", value: { command, error: text } };
}
