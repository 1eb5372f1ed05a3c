import type { LsDirectoryTreeNode } from "../../gen/agent/v1/directory_tree_pb.ts";
import type { DiagnosticsResult } from "../../gen/agent/v1/exec_diagnostics_pb.ts";
import type { GrepResult, GrepUnionResult } from "../../gen/agent/v1/exec_file_pb.ts";
import type { McpResult } from "../../gen/agent/v1/exec_mcp_pb.ts";
import type { ExecClientMessage } from "../../gen/agent/v1/exec_pb.ts";
import type { ShellResult } from "../../gen/agent/v1/exec_shell_pb.ts";
import type { ExecAnswer } from "./correspondence.ts";

/** What the model would read of an exec's answer. */
export interface ExecText {
  readonly text: string;
  readonly isError: boolean;
}

export function execText({ messages, error }: ExecAnswer): ExecText {
  if (error !== undefined) return { text: error, isError: true };
  if (messages[0]?.message.case === "shellStream") return shellStreamText(messages);
  const last = messages.at(-1);
  return last ? resultText(last) : { text: "", isError: false };
}

const fine = (text: string): ExecText => ({ text, isError: false });
const failed = (text: string): ExecText => ({ text, isError: true });

function resultText({ message }: ExecClientMessage): ExecText {
  switch (message.case) {
    case "mcpResult":
      return mcpText(message.value.result);
    case "shellResult":
      return shellText(message.value.result);
    case "grepResult":
      return grepText(message.value.result);
    case "diagnosticsResult":
      return diagnosticsText(message.value.result);
    case "readResult": {
      const { result } = message.value;
      if (result.case !== "success") return problemText(result);
      const { output } = result.value;
      return fine(output.case === "data" ? `[${output.value.length} bytes]` : (output.value ?? ""));
    }
    case "writeResult": {
      const { result } = message.value;
      if (result.case !== "success") return problemText(result);
      return fine(result.value.fileContentAfterWrite ?? `wrote ${result.value.path}`);
    }
    case "deleteResult": {
      const { result } = message.value;
      return result.case === "success" ? fine(`deleted ${result.value.path}`) : problemText(result);
    }
    case "lsResult": {
      const { result } = message.value;
      if (result.case !== "success" && result.case !== "timeout") return problemText(result);
      return fine(treeLines(result.value.directoryTreeRoot).join("\n"));
    }
    case "fetchResult": {
      const { result } = message.value;
      return result.case === "success" ? fine(result.value.content) : problemText(result);
    }
    default:
      return fine("");
  }
}

/** The members that are not a success all say what happened in one of a few fields. */
function problemText(result: { readonly case: string | undefined; readonly value?: object | undefined }): ExecText {
  const { error, reason, clientVisibleError, path } = (result.value ?? {}) as Record<string, unknown>;
  const words = result.case?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) ?? "empty result";
  const detail = [error, reason, clientVisibleError, path].find((part) => typeof part === "string" && part !== "");
  return failed(detail === undefined ? words : `${words}: ${String(detail)}`);
}

function mcpText(result: McpResult["result"]): ExecText {
  switch (result.case) {
    case "success": {
      const parts = result.value.content.map(({ content }) => {
        if (content.case === "text") return content.value.text;
        return content.case === "image" ? `[image ${content.value.mimeType}:${content.value.data.length}]` : "";
      });
      return { text: parts.join("\n"), isError: result.value.isError };
    }
    case "error":
      return failed(result.value.error);
    default:
      return problemText(result);
  }
}

function shellText(result: ShellResult["result"]): ExecText {
  switch (result.case) {
    case "success":
    case "failure": {
      const { interleavedOutput, stdout, stderr, exitCode } = result.value;
      return withExit(interleavedOutput || stdout + stderr, exitCode);
    }
    case "timeout":
      return failed(`timeout after ${result.value.timeoutMs} ms`);
    default:
      return problemText(result);
  }
}

function shellStreamText(messages: readonly ExecClientMessage[]): ExecText {
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
        return withExit(output, event.value.code);
      case "backgrounded":
        return fine(`${output}[in the background as shell ${event.value.shellId}]`);
      case "start":
      case "hookContext":
        break;
      default:
        return problemText(event);
    }
  }
  return fine(output);
}

const withExit = (output: string, code: number): ExecText =>
  code === 0 ? fine(output) : failed(`${output}${output === "" || output.endsWith("\n") ? "" : "\n"}[exit ${code}]`);

function grepText(result: GrepResult["result"]): ExecText {
  if (result.case !== "success") return problemText(result);
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

function diagnosticsText(result: DiagnosticsResult["result"]): ExecText {
  if (result.case !== "success") return problemText(result);
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
