import { fromJson, toJson } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { globTool } from "../../../../../src/faces/cursor/run/tools/glob.ts";
import type { ToolSite } from "../../../../../src/faces/cursor/run/tools/tool.ts";
import { ExecClientMessageSchema } from "../../../../../src/gen/agent/v1/exec_pb.ts";
import { ToolCallSchema } from "../../../../../src/gen/agent/v1/tool_call_pb.ts";
import type { ExecReply } from "../../../../../src/wire/agent/exec/exec-result.ts";

/** A client that finds these files by folder of the workspace. */
const found = (...folders: readonly (readonly string[])[]): ExecReply => {
  const results = folders.map((files, n) => [`/w${n}`, { files: { files } }]);
  const grepResult = { success: { workspaceResults: Object.fromEntries(results) } };
  return { messages: [fromJson(ExecClientMessageSchema, { grepResult })] };
};

async function glob(reply: ExecReply) {
  const site: ToolSite = {
    callId: "c",
    signal: new AbortController().signal,
    workspace: "/w",
    exec: async () => reply,
    show: () => {},
    todos: [],
  };
  const { content, isError, display } = await globTool.run({ pattern: "**/*.ts", path: "/w" }, site);
  const [part] = content;
  const { globToolCall } = toJson(ToolCallSchema, display) as { globToolCall: { result: object } };
  return { text: part?.type === "text" ? part.text : undefined, isError, result: globToolCall.result };
}

it.each([
  ["none", [], [], "No file matches."],
  ["one", [["a.ts"]], ["a.ts"], "a.ts"],
  ["several", [["a.ts", "b c.ts"]], ["a.ts", "b c.ts"], "a.ts\nb c.ts"],
  ["those of two folders", [["a.ts"], ["b.ts", "c.ts"]], ["a.ts", "b.ts", "c.ts"], "a.ts\nb.ts\nc.ts"],
])("a glob tells the model and shows the user the files that match: %s", async (_, folders, files, text) => {
  expect(await glob(found(...folders))).toEqual({
    text,
    isError: false,
    result: {
      success: {
        pattern: "**/*.ts",
        path: "/w",
        ...(files.length > 0 && { files, totalFiles: files.length }),
      },
    },
  });
});

it("a glob that fails says why, and shows no files", async () => {
  expect(await glob({ messages: [], error: "It is gone." })).toEqual({
    text: "It is gone.",
    isError: true,
    result: { error: { error: "It is gone." } },
  });
});
