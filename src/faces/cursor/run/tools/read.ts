import type { ImagePart, JsonObject, TextPart } from "../../../../core/turn.ts";
import type { ReadResult } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { nativeDisplay, nativeRequest } from "../../../../wire/agent/exec/native-exec.ts";
import { imageTypeOf } from "../../../../wire/agent/state/media-type.ts";
import { wellTyped } from "./native.ts";
import { bounded, type CursorTool, objectSchema, PATH, pick, resultOf, textArg, toolCall } from "./tool.ts";

/** Reads a file, or some of its lines. Images are shown to the model. */
export const readTool: CursorTool = {
  definition: {
    name: "read",
    description: "Reads a file. Give offset and limit for a part of a large file.",
    schema: objectSchema(
      {
        path: PATH,
        offset: { type: "integer", description: "First line, from 1" },
        limit: { type: "integer", description: "How many lines" },
      },
      "path",
    ),
  },
  listedAs: ["read_tool_call"],
  isReadOnly: true,
  display: (args, callId) =>
    nativeDisplay("read", typeof args["path"] === "string" ? { path: args["path"] } : {}, callId),
  async run(args, site) {
    const path = textArg(args, "path");
    const range = pick(args, "offset", "limit");
    const reply = await site.exec(wellTyped(() => nativeRequest("read", { path, ...range, toolCallId: site.callId })));
    const result = resultOf(reply, "readResult")?.result;
    const shown = { path, ...(range as { offset?: number; limit?: number }) };
    if (result?.case !== "success") {
      const { content } = readExecReply(reply);
      const errorMessage = content[0]?.type === "text" ? content[0].text : "";
      const error = { case: "error" as const, value: { errorMessage } };
      const display = toolCall(site.callId, {
        case: "readToolCall",
        value: { args: shown, result: { result: error } },
      });
      return { content, isError: true, display };
    }
    const part = contentOf(result.value, range);
    const { totalLines, truncated } = result.value;
    const output =
      part.type === "text"
        ? { case: "content" as const, value: part.text }
        : { case: "data" as const, value: part.data };
    const success = { case: "success" as const, value: { path, output, totalLines, exceededLimit: truncated } };
    const cut: TextPart[] = truncated
      ? [{ type: "text", text: "\n[the file is longer; read the rest with offset]" }]
      : [];
    return {
      content: [part, ...cut],
      isError: false,
      display: toolCall(site.callId, { case: "readToolCall", value: { args: shown, result: { result: success } } }),
    };
  },
};

type ReadSuccess = Extract<ReadResult["result"], { case: "success" }>["value"];

function contentOf({ output, rangeApplied }: ReadSuccess, range: JsonObject): TextPart | ImagePart {
  if (output.case === "data") {
    const mediaType = imageTypeOf(output.value, "");
    if (mediaType.startsWith("image/")) return { type: "image", data: output.value, mediaType };
    return { type: "text", text: `[a binary file of ${output.value.length} bytes]` };
  }
  const text = output.value ?? "";
  if (rangeApplied || Object.keys(range).length === 0) return { type: "text", text: bounded(text) };
  // Some clients always send the whole file.
  const start = Math.max(0, Number(range["offset"] ?? 1) - 1);
  const lines = text
    .split("\n")
    .slice(start, range["limit"] === undefined ? undefined : start + Number(range["limit"]));
  return { type: "text", text: bounded(lines.join("\n")) };
}
