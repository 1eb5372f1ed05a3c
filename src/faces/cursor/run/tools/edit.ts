import type { JsonObject } from "../../../../core/turn.ts";
import { textOf } from "../../../../core/turn.ts";
import { readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { nativeRequest } from "../../../../wire/agent/exec/native-exec.ts";
import { diffOf } from "./diff.ts";
import { type CursorTool, objectSchema, outcome, PATH, resultOf, ToolProblem, textArg, toolCall } from "./tool.ts";

/**
 * Replaces text in a file: reads it, replaces, and writes it whole. Line endings, a byte order mark and the encoding stay as
 * they are. A file that the client could not read completely is left alone.
 */
export const editTool: CursorTool = {
  definition: {
    name: "edit",
    description:
      "Replaces text in a file; the rest stays as it is. old_text has to be in the file exactly once, unless replace_all is set.",
    schema: objectSchema(
      {
        path: PATH,
        old_text: { type: "string", description: "The text to replace, exactly as in the file" },
        new_text: { type: "string" },
        replace_all: { type: "boolean", description: "Replaces every occurrence" },
      },
      "path",
      "old_text",
      "new_text",
    ),
  },
  listedAs: ["edit_tool_call"],
  isReadOnly: false,
  display: (args, callId) =>
    toolCall(callId, {
      case: "editToolCall",
      value: { args: { path: typeof args["path"] === "string" ? args["path"] : "" } },
    }),
  async run(args, site) {
    const path = textArg(args, "path");
    const failed = (text: string) => {
      const result = { case: "error" as const, value: { path, error: text, modelVisibleError: text } };
      return outcome(
        text,
        true,
        toolCall(site.callId, { case: "editToolCall", value: { args: { path }, result: { result } } }),
      );
    };
    const reading = await site.exec(nativeRequest("read", { path, toolCallId: site.callId }));
    const read = resultOf(reading, "readResult")?.result;
    if (read?.case !== "success") return failed(textOf(readExecReply(reading).content));
    const { output, truncated } = read.value;
    if (truncated) return failed("The file is too large to be edited: it could not be read completely.");
    if (output.case === "data") return failed("The file is binary and cannot be edited.");
    const before = output.value ?? "";
    if (before.includes("\uFFFD")) return failed("The encoding of the file is not known, so an edit would damage it.");
    const after = replaceText(before, args);
    site.signal.throwIfAborted();
    const writing = await site.exec(nativeRequest("write", { path, fileText: after, toolCallId: site.callId }));
    if (resultOf(writing, "writeResult")?.result.case !== "success")
      return failed(textOf(readExecReply(writing).content));
    const { text: diffString, added: linesAdded, removed: linesRemoved } = diffOf(before, after);
    const value = {
      path,
      linesAdded,
      linesRemoved,
      diffString,
      beforeFullFileContent: before,
      afterFullFileContent: after,
    };
    const display = toolCall(site.callId, {
      case: "editToolCall",
      value: {
        args: { path, streamContent: textArg(args, "new_text") },
        result: { result: { case: "success", value } },
      },
    });
    return outcome(`The file was changed.\n${diffString}`, false, display);
  },
};

/** True if the line at this place ends in CRLF. The last line of a file is taken to end as the one before it. */
function isCrlfAt(text: string, at: number): boolean {
  const next = text.indexOf("\n", at);
  const end = next === -1 ? text.lastIndexOf("\n", at) : next;
  return end > 0 && text[end - 1] === "\r";
}

const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");

/**
 * Replaces text. Models write LF: where that is not in the file, their text is read as CRLF, and the new text gets the line
 * endings of its place. Throws if the text is not there once.
 */
export function replaceText(before: string, args: JsonObject): string {
  const [given, fresh] = [textArg(args, "old_text"), textArg(args, "new_text")];
  if (given === "") throw new ToolProblem("old_text: expected the text to replace.");
  const old = before.includes(given) ? given : before.includes("\r\n") ? toCrlf(given) : given;
  const pieces = before.split(old);
  const count = pieces.length - 1;
  if (count === 0) throw new ToolProblem("old_text is not in the file. Read the file and copy the text exactly.");
  if (count > 1 && args["replace_all"] !== true) {
    throw new ToolProblem(
      `old_text is in the file ${count} times. Give more of the text around it, or set replace_all.`,
    );
  }
  let after = "";
  let end = 0;
  for (const [nth, piece] of pieces.entries()) {
    if (nth > 0) {
      const endsInCrlf = old.includes("\n") ? old.includes("\r\n") : isCrlfAt(before, end);
      after += endsInCrlf ? toCrlf(fresh) : fresh;
      end += old.length;
    }
    after += piece;
    end += piece.length;
  }
  if (after === before) throw new ToolProblem("new_text: it is the same as old_text.");
  return after;
}
