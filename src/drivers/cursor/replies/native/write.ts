import type { WriteArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { PATH } from "./path-names.ts";
import { failureOf } from "./results/failure.ts";
import { shellOutput } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";

export const WRITE: readonly Route<WriteArgs>[] = [
  {
    // OpenCode, Claude Code and Continue; Qwen Code and Gemini CLI; Cline; Copilot; others.
    tools: ["write", "write_file", "write_to_file", "create_file", "create_new_file", "save_file", "create"],
    args: (request) => {
      const text = textToWrite(request);
      if (text === undefined) return undefined;
      return [
        { names: PATH, value: request.path, use: "needed" },
        { names: ["content", "contents", "fileText", "text", "fileContent"], value: text, use: "needed" },
        { names: ["lineCount"], value: lineCount(text), use: "filler" },
        { names: ["overwrite"], value: true, use: "offered" },
        { names: ["explanation", "description", "instructions"], value: `Write ${request.path}`, use: "filler" },
      ];
    },
    results: (request, said) => [writeResult(request, failureOf(said))],
  },
  {
    // Codex for the models that it knows; OpenCode for some.
    tools: ["apply_patch"],
    args: (request) => {
      const patch = patchToWrite(request);
      return patch === undefined
        ? undefined
        : [{ names: ["input", "patch", "patchText"], value: patch, use: "needed" }];
    },
    results: (request, said) => {
      const { output, exitCode } = shellOutput(said);
      return [writeResult(request, exitCode === 0 ? failureOf(said) : output || "The patch could not be applied.")];
    },
  },
];

function writeResult(request: WriteArgs, error: string | undefined): ExecResult {
  const { path } = request;
  if (error !== undefined) return { case: "writeResult", value: { result: { case: "error", value: { path, error } } } };
  const text = textToWrite(request) ?? "";
  const value = {
    path,
    linesCreated: lineCount(text),
    fileSize: Buffer.byteLength(text),
    ...(request.returnFileContentAfterWrite ? { fileContentAfterWrite: text } : {}),
  };
  return { case: "writeResult", value: { result: { case: "success", value } } };
}

/** Returns a patch that writes the file. A patch consists of whole lines. An existing file is replaced. */
function patchToWrite(request: WriteArgs): string | undefined {
  const text = textToWrite(request);
  if (!text || /[\r\n]/.test(request.path)) return undefined;
  const lines = text.replace(/\n$/, "").split("\n");
  return [
    "*** Begin Patch",
    `*** Add File: ${request.path}`,
    ...lines.map((line) => `+${line}`),
    "*** End Patch",
    "",
  ].join("\n");
}

/** Returns undefined for bytes that are not text, since no client's tool takes bytes. */
function textToWrite({ fileText, fileBytes }: WriteArgs): string | undefined {
  if (fileBytes.length === 0) return fileText;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fileBytes);
  } catch {
    return undefined;
  }
}

const lineCount = (text: string): number => (text === "" ? 0 : text.replace(/\n$/, "").split("\n").length);
