import { create } from "@bufbuild/protobuf";
import type { JsonObject, ToolDefinition, ToolMessage } from "../../../../core/turn.ts";
import {
  type ExecClientMessage,
  ExecClientMessageSchema,
  type ExecServerMessage,
} from "../../../../gen/agent/v1/exec_pb.ts";
import { DELETE } from "./delete.ts";
import { DIAGNOSTICS } from "./diagnostics.ts";
import { FETCH } from "./fetch.ts";
import { GLOB } from "./glob.ts";
import { GREP } from "./grep.ts";
import { LS } from "./ls.ts";
import { READ } from "./read.ts";
import { type Taken, takeRoute } from "./route.ts";
import { BASH, SHELL, SHELL_STREAM } from "./shell.ts";
import { WRITE } from "./write.ts";

/** A native request of the model, mapped to a tool of the client. */
export interface NativeCall {
  readonly callId: string;
  readonly name: string;
  /** In the format of that tool. */
  readonly args: JsonObject;
  /** Converts the tool's result to the native result: several messages for a shell stream. */
  reply(result: ToolMessage): readonly ExecClientMessage[];
}

/** Maps a native request to a tool call. Returns undefined if the client has no tool for it. */
export function mapExec(exec: ExecServerMessage, tools: readonly ToolDefinition[]): NativeCall | undefined {
  const taken = takeFor(exec.message, tools);
  if (!taken) return undefined;
  const { id } = exec;
  const { callId, name, args } = taken;
  return {
    callId,
    name,
    args,
    reply: (said) => taken.results(said).map((message) => create(ExecClientMessageSchema, { id, message })),
  };
}

function takeFor(
  message: ExecServerMessage["message"],
  tools: readonly ToolDefinition[],
): (Taken & { readonly callId: string }) | undefined {
  switch (message.case) {
    case "shellArgs":
      return withId(message.value, takeRoute(message.value, SHELL, tools));
    case "shellStreamArgs":
      return withId(message.value, takeRoute(message.value, SHELL_STREAM, tools));
    case "miniSweAgentBashArgs":
      return withId(message.value, takeRoute(message.value, BASH, tools));
    case "readArgs":
      return withId(message.value, takeRoute(message.value, READ, tools));
    case "writeArgs":
      return withId(message.value, takeRoute(message.value, WRITE, tools));
    case "deleteArgs":
      return withId(message.value, takeRoute(message.value, DELETE, tools));
    case "lsArgs":
      return withId(message.value, takeRoute(message.value, LS, tools));
    case "grepArgs":
      return withId(message.value, takeRoute(message.value, message.value.pattern === "" ? GLOB : GREP, tools));
    case "fetchArgs":
      return withId(message.value, takeRoute(message.value, FETCH, tools));
    case "diagnosticsArgs":
      return withId(message.value, takeRoute(message.value, DIAGNOSTICS, tools));
    default:
      return undefined;
  }
}

const withId = ({ toolCallId }: { readonly toolCallId: string }, taken: Taken | undefined) =>
  taken && { ...taken, callId: toolCallId };
