import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GrepArgs, GrepUnionResultSchema } from "../../../../../gen/agent/v1/exec_file_pb.ts";
import type { ExecResult } from "../route.ts";
import { fileList } from "./file-list.ts";
import { type FoundLine, grepLines } from "./grep-lines.ts";

type Union = MessageInitShape<typeof GrepUnionResultSchema>;

/** Returns the result in the output mode of the request, as far as the client's output allows. */
export function grepResult({ pattern, path = "", outputMode }: GrepArgs, text: string): ExecResult {
  const { lines, rest } = grepLines(text, path);
  const { isTruncated } = fileList(text);
  const found = unionOf(outputMode || "content", path, lines, rest, isTruncated);
  const mode = { count: "count", files: "files_with_matches", content: "content" } as const;
  const value = {
    pattern,
    path,
    outputMode: mode[found.result?.case ?? "content"],
    workspaceResults: { [path]: found },
  };
  return { case: "grepResult", value: { result: { case: "success", value } } };
}

function unionOf(
  mode: string,
  path: string,
  lines: readonly FoundLine[],
  rest: readonly string[],
  clientTruncated: boolean,
): Union {
  const byFile = Map.groupBy(lines, ({ file }) => file);
  const hits = lines.filter(({ isContextLine }) => !isContextLine);
  if (mode === "count") {
    const listed = rest.flatMap((line) => {
      const [, file, count] = /^(.+):(\d+)$/.exec(line) ?? [];
      return file === undefined ? [] : [{ file, count: Math.min(Number(count), 2 ** 31 - 1) }];
    });
    const counted = [...Map.groupBy(hits, ({ file }) => file)].map(([file, { length }]) => ({ file, count: length }));
    const counts = listed.length > 0 ? listed : counted;
    const totalMatches = Math.min(
      counts.reduce((sum, { count }) => sum + count, 0),
      2 ** 31 - 1,
    );
    return { result: { case: "count", value: { counts, totalFiles: counts.length, totalMatches, clientTruncated } } };
  }
  const isList = lines.length === 0 && (mode === "files_with_matches" || (rest.length > 0 && rest.every(isPath)));
  if (isList || mode === "files_with_matches") {
    const files = isList ? fileList(rest.join("\n")).files : [...byFile.keys()];
    return { result: { case: "files", value: { files, totalFiles: files.length, clientTruncated } } };
  }
  // Lines of no known format are passed on as they are.
  const unread = lines.length > 0 ? [] : rest.map((content) => ({ lineNumber: 0, content }));
  const matches = [...byFile].map(([file, found]) => ({
    file,
    matches: found.map(({ lineNumber, content, isContextLine }) => ({ lineNumber, content, isContextLine })),
  }));
  const all = unread.length > 0 ? [{ file: path, matches: unread }] : matches;
  return {
    result: {
      case: "content",
      value: {
        matches: all,
        totalLines: lines.length + unread.length,
        totalMatchedLines: hits.length + unread.length,
        clientTruncated,
      },
    },
  };
}

const isPath = (line: string): boolean => /^(?:\.{0,2}[\\/]|[A-Za-z]:\\)?[^\s:]+$/.test(line) && /[\\/.]/.test(line);
