import type { LsDirectoryTreeNode } from "../../../gen/agent/v1/directory_tree_pb.ts";
import type { DiagnosticsResult } from "../../../gen/agent/v1/exec_diagnostics_pb.ts";
import type { GrepResult, GrepUnionResult } from "../../../gen/agent/v1/exec_file_pb.ts";
import type { ExecClientMessage } from "../../../gen/agent/v1/exec_pb.ts";
import type { ShellResult } from "../../../gen/agent/v1/exec_shell_pb.ts";
import type { OutputLocation } from "../../../gen/agent/v1/sandbox_pb.ts";
import { type McpOutcome, readMcpResult } from "./mcp-result.ts";
import { problemText } from "./problem-text.ts";

/** How an exec ended: the messages of its result (several for a shell stream), or why there is none. */
export interface ExecReply {
  readonly messages: readonly ExecClientMessage[];
  readonly error?: string;
}

/** Reads the reply to an exec request, native or MCP, as the result of a tool. */
export function readExecReply({ messages, error }: ExecReply): McpOutcome {
  if (error !== undefined) return failed(error);
  if (messages[0]?.message.case === "shellStream") return shellStreamText(messages);
  const last = messages.at(-1);
  return last ? readResult(last) : fine("");
}

const fine = (text: string): McpOutcome => ({ content: [{ type: "text", text }], isError: false });
const failed = (text: string): McpOutcome => ({ content: [{ type: "text", text }], isError: true });

const problem = (result: Parameters<typeof problemText>[0]): McpOutcome => failed(problemText(result));

function readResult({ message }: ExecClientMessage): McpOutcome {
  switch (message.case) {
    case "mcpResult":
      return readMcpResult(message.value.result);
    case "shellResult":
      return shellText(message.value.result);
    case "grepResult":
      return grepText(message.value.result);
    case "diagnosticsResult":
      return diagnosticsText(message.value.result);
    case "readResult": {
      const { result } = message.value;
      if (result.case !== "success") return problem(result);
      const { output } = result.value;
      return fine(output.case === "data" ? `[${output.value.length} bytes]` : (output.value ?? ""));
    }
    case "writeResult": {
      const { result } = message.value;
      if (result.case !== "success") return problem(result);
      return fine(result.value.fileContentAfterWrite ?? `wrote ${result.value.path}`);
    }
    case "deleteResult": {
      const { result } = message.value;
      return result.case === "success" ? fine(`deleted ${result.value.path}`) : problem(result);
    }
    case "lsResult": {
      const { result } = message.value;
      if (result.case !== "success" && result.case !== "timeout") return problem(result);
      return fine(treeLines(result.value.directoryTreeRoot).join("\n"));
    }
    case "fetchResult": {
      const { result } = message.value;
      return result.case === "success" ? fine(result.value.content) : problem(result);
    }
    default:
      return fine("");
  }
}

function shellText(result: ShellResult["result"]): McpOutcome {
  switch (result.case) {
    case "success":
    case "failure": {
      const { interleavedOutput, stdout, stderr, exitCode } = result.value;
      return withExit(interleavedOutput || stdout + stderr, exitCode);
    }
    case "timeout":
      return failed(`timeout after ${result.value.timeoutMs} ms`);
    default:
      return problem(result);
  }
}

function shellStreamText(messages: readonly ExecClientMessage[]): McpOutcome {
  let output = "";
  for (const { message } of messages) {
    if (message.case !== "shellStream") continue;
    const { event } = message.value;
    switch (event.case) {
      case "stdout":
      case "stderr":
        output += event.value.data;
        break;
      case "exit":
        return withExit(output + savedAs(event.value.outputLocation), event.value.code);
      case "backgrounded":
        return fine(`${output}[in the background as shell ${event.value.shellId}]`);
      case "start":
      case "hookContext":
        break;
      default:
        return problem(event);
    }
  }
  return fine(output);
}

/** A client may put a long output into a file. */
const savedAs = (file: OutputLocation | undefined): string =>
  file?.filePath ? `\n[The whole output, ${file.sizeBytes} bytes, is in ${file.filePath}]` : "";

const withExit = (output: string, code: number): McpOutcome =>
  code === 0 ? fine(output) : failed(`${output}${output === "" || output.endsWith("\n") ? "" : "\n"}[exit ${code}]`);

function grepText(result: GrepResult["result"]): McpOutcome {
  if (result.case !== "success") return problem(result);
  const { workspaceResults, activeEditorResult } = result.value;
  const unions = [...Object.values(workspaceResults), ...(activeEditorResult ? [activeEditorResult] : [])];
  return fine(unions.flatMap(grepLines).join("\n"));
}

function grepLines({ result }: GrepUnionResult): string[] {
  switch (result.case) {
    case "count":
      return result.value.counts.map(({ file, count }) => `${file}:${count}`);
    case "files":
      return result.value.files;
    case "content":
      return result.value.matches.flatMap(({ file, matches }) =>
        matches.map(({ lineNumber, content }) => `${file}:${lineNumber}:${content}`),
      );
    default:
      return [];
  }
}

function diagnosticsText(result: DiagnosticsResult["result"]): McpOutcome {
  if (result.case !== "success") return problem(result);
  const { path, diagnostics } = result.value;
  return fine(diagnostics.map(({ range, message }) => `${path}:${range?.start?.line ?? 0}: ${message}`).join("\n"));
}

function treeLines(node: LsDirectoryTreeNode | undefined, indent = ""): string[] {
  if (!node) return [];
  return [
    `${indent}${node.absPath}`,
    ...node.childrenDirs.flatMap((child) => treeLines(child, `${indent}  `)),
    ...node.childrenFiles.map(({ name }) => `${indent}  ${name}`),
  ];
}
