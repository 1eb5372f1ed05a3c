import { create } from "@bufbuild/protobuf";
import {
  type ExecClientMessage,
  ExecClientMessageSchema,
  type ExecServerMessage,
} from "../../../gen/agent/v1/exec_pb.ts";
import { ShellStreamSchema } from "../../../gen/agent/v1/exec_shell_pb.ts";
import type { ExecResult } from "./native/route.ts";

/** How a request is rejected: by its own result type, or by a throw if that is unknown. */
export type Rejection =
  | { readonly type: "results"; readonly messages: readonly ExecClientMessage[] }
  | { readonly type: "throw"; readonly error: string };

/** Results that name the path of their request. */
const RESULTS_BY_PATH = {
  writeArgs: "writeResult",
  deleteArgs: "deleteResult",
  readArgs: "readResult",
  redactedReadArgs: "redactedReadResult",
  lsArgs: "lsResult",
  diagnosticsArgs: "diagnosticsResult",
} as const;

/**
 * Rejects a native request of the model. Nothing is ever executed here: the request is meant for the user's machine.
 * The model reads the reason, so it names the tools to use instead.
 */
export function rejectExec({ id, message }: ExecServerMessage, offeredTools: readonly string[]): Rejection {
  const reason =
    offeredTools.length === 0
      ? "This built-in tool is not available here, and no other tool is. Answer without it."
      : `This built-in tool is not available here. Use one of the provided MCP tools instead: ${offeredTools.join(", ")}.`;
  const reply = (...results: ExecResult[]): Rejection => ({
    type: "results",
    messages: results.map((result) => create(ExecClientMessageSchema, { id, message: result })),
  });
  switch (message.case) {
    case "shellArgs":
    case "miniSweAgentBashArgs": {
      const { command, workingDirectory } = message.value;
      const value = { result: { case: "rejected" as const, value: { command, workingDirectory, reason } } };
      return reply(
        message.case === "shellArgs" ? { case: "shellResult", value } : { case: "miniSweAgentBashResult", value },
      );
    }
    case "shellStreamArgs": {
      const { command, workingDirectory } = message.value;
      const rejected = create(ShellStreamSchema, {
        event: { case: "rejected", value: { command, workingDirectory, reason } },
      });
      const exit = create(ShellStreamSchema, { event: { case: "exit", value: { code: 1, cwd: workingDirectory } } });
      return reply({ case: "shellStream", value: rejected }, { case: "shellStream", value: exit });
    }
    case "writeArgs":
    case "deleteArgs":
    case "readArgs":
    case "redactedReadArgs":
    case "lsArgs":
    case "diagnosticsArgs": {
      const value = { result: { case: "rejected" as const, value: { path: message.value.path, reason } } };
      return reply({ case: RESULTS_BY_PATH[message.case], value });
    }
    case "grepArgs":
      return reply({ case: "grepResult", value: { result: { case: "error", value: { error: reason } } } });
    case "fetchArgs":
      return reply({
        case: "fetchResult",
        value: { result: { case: "error", value: { url: message.value.url, error: reason } } },
      });
    case "backgroundShellSpawnArgs": {
      const { command, workingDirectory } = message.value;
      return reply({
        case: "backgroundShellSpawnResult",
        value: { result: { case: "rejected", value: { command, workingDirectory, reason } } },
      });
    }
    case "listMcpResourcesExecArgs":
      return reply({
        case: "listMcpResourcesExecResult",
        value: { result: { case: "success", value: { resources: [] } } },
      });
    case "readMcpResourceExecArgs":
      return reply({
        case: "readMcpResourceExecResult",
        value: { result: { case: "notFound", value: { uri: message.value.uri } } },
      });
    case "mcpStateExecArgs":
      return reply({ case: "mcpStateExecResult", value: { result: { case: "success", value: { servers: [] } } } });
    case "shellAllowlistPrecheckArgs":
      return reply({ case: "shellAllowlistPrecheckResult", value: { allowlisted: false } });
    case "mcpAllowlistPrecheckArgs":
      return reply({ case: "mcpAllowlistPrecheckResult", value: { allowlisted: true } });
    case "webFetchAllowlistPrecheckArgs":
      return reply({ case: "webFetchAllowlistPrecheckResult", value: { allowlisted: true } });
    default:
      return { type: "throw", error: reason };
  }
}
