import { describe, expect, test } from "vitest";
import { mapExec } from "../../../../../src/drivers/cursor/replies/native/map-exec.ts";
import { call, exec, read, said, tool } from "./support/native-stage.ts";

const searching = (value: object) => ({ case: "grepArgs", value: { toolCallId: "call", ...value } }) as const;

describe("searching in files", () => {
  const asked = { pattern: "it's", path: "/w", glob: "*.ts", caseInsensitive: true };
  test.each([
    ["OpenCode", tool("grep", "pattern", "path?", "include?"), { pattern: "(?i)it's", path: "/w", include: "*.ts" }],
    [
      "Claude Code",
      tool("Grep", "pattern", "path?", "glob?", "output_mode?", "-n!?", "-i!?", "-C#?"),
      { pattern: "it's", path: "/w", glob: "*.ts", output_mode: "content", "-n": true, "-i": true },
    ],
    [
      "Qwen Code",
      tool("grep_search", "pattern", "path?", "glob?", "limit#?"),
      { pattern: "it's", path: "/w", glob: "*.ts" },
    ],
    [
      "Gemini CLI",
      tool("search_file_content", "pattern", "dir_path?", "include?"),
      { pattern: "it's", dir_path: "/w", include: "*.ts" },
    ],
    [
      "Cline",
      tool("search_files", "path", "regex", "file_pattern?"),
      { path: "/w", regex: "(?i)it's", file_pattern: "*.ts" },
    ],
    [
      "Copilot",
      tool("grep_search", "query", "isRegexp!", "includePattern?"),
      { query: "it's", isRegexp: true, includePattern: "*.ts" },
    ],
    [
      "a shell",
      tool("exec_command", "cmd"),
      {
        cmd: "grep -rIEHni --exclude-dir=.git --exclude-dir=node_modules --include='*.ts' -e 'it'\\''s' -- '/w'",
      },
    ],
  ])("%s", (_, definition, args) => {
    expect(call(searching(asked), definition)).toMatchObject({ callId: "call", name: definition.name });
    expect(call(searching(asked), definition).args).toEqual(args);
  });

  const found = "/w/a.ts:3:let x: y = 1:2\n/w/a.ts:9:x\n/w/b.ts:1:x";
  test.each([
    ["Claude Code", "/w/a.ts:3:let x: y = 1:2\n/w/a.ts:9:x\n--\n/w/b.ts:1:x"],
    ["OpenCode", "Found 3 matches\n/w/a.ts:\n  Line 3: let x: y = 1:2\n  Line 9: x\n\n/w/b.ts:\n  Line 1: x"],
    [
      "Qwen Code",
      'Found 3 matches for pattern "x" in path "/w":\n---\nFile: /w/a.ts\nL3: let x: y = 1:2\nL9: x\n---\nFile: /w/b.ts\nL1: x\n---',
    ],
  ])("%s's words are lines of files", (_, text) => {
    const mapped = call(searching({ pattern: "x", path: "/w" }), tool("grep", "pattern", "path?"));
    expect(read(mapped, text)).toEqual({ text: found, isError: false });
    expect(mapped.reply(said(text))[0]?.message.value).toMatchObject({
      result: {
        value: {
          pattern: "x",
          path: "/w",
          outputMode: "content",
          workspaceResults: { "/w": { result: { value: { totalMatchedLines: 3 } } } },
        },
      },
    });
  });

  test.each([
    ["one file", { path: "/w/a.ts" }, "3:x\n4-y", "/w/a.ts:3:x\n/w/a.ts:4:y"],
    ["names with numbers", { path: "/w" }, "2024-01.md:3:x\n2025-01.md:4:x", "2024-01.md:3:x\n2025-01.md:4:x"],
    ["lines beside", {}, "a-b.ts:3:x\na-b.ts-4-y", "a-b.ts:3:x\na-b.ts:4:y"],
    ["Windows", {}, "C:\\w\\a.ts:3:x", "C:\\w\\a.ts:3:x"],
    ["only files", {}, "Found 2 files\n/w/a.ts\nb.ts", "/w/a.ts\nb.ts"],
    ["files asked for, lines told", { outputMode: "files_with_matches" }, found, "/w/a.ts\n/w/b.ts"],
    [
      "files asked for and told",
      { outputMode: "files_with_matches" },
      "Found 2 files\n/w/a b.ts\n/w/b.ts",
      "/w/a b.ts\n/w/b.ts",
    ],
    [
      "counts asked for and told",
      { outputMode: "count" },
      "/w/a.ts:2\n/w/b.ts:1\n\nFound 3 total occurrences across 2 files.",
      "/w/a.ts:2\n/w/b.ts:1",
    ],
    ["counts asked for, lines told", { outputMode: "count" }, found, "/w/a.ts:2\n/w/b.ts:1"],
    ["nothing", {}, "No files found", ""],
    ["nothing in other words", {}, 'No matches found for pattern "x" in the workspace directory.', ""],
    ["words of no known form", { path: "/w" }, "I saw it somewhere", "/w:0:I saw it somewhere"],
  ])("%s", (_, asked, text, expected) => {
    const mapped = call(searching({ pattern: "x", ...asked }), tool("grep", "pattern", "path?"));
    expect(read(mapped, text)).toEqual({ text: expected, isError: false });
  });

  test("a failure", () => {
    const mapped = call(searching({ pattern: "(" }), tool("grep", "pattern"));
    expect(read(mapped, "regex parse error", true)).toEqual({ text: "error: regex parse error", isError: true });
    expect(read(mapped, "ripgrep execution failed").isError).toBe(true);
  });

  test.each([
    ["Exit code 1", true, { text: "", isError: false }],
    ["(no output)", false, { text: "", isError: false }],
    ["./a.ts:1:x", false, { text: "./a.ts:1:x", isError: false }],
    ["Exit code 2\ngrep: no", true, { text: "error: Exit code 2\ngrep: no", isError: true }],
    ["The user said no.", true, { text: "error: The user said no.", isError: true }],
    ["", true, { text: "error: The search failed.", isError: true }],
  ])("by a shell: %s", (text, isError, expected) => {
    expect(read(call(searching({ pattern: "x" }), tool("Bash", "command")), text, isError)).toEqual(expected);
  });
});

describe("looking for files", () => {
  const asked = searching({ glob: "src/**/*.ts", path: "/w" });
  test.each([
    ["OpenCode and Claude Code", tool("glob", "pattern", "path?"), { pattern: "src/**/*.ts", path: "/w" }],
    ["Continue", tool("file_glob_search", "pattern"), { pattern: "src/**/*.ts" }],
    [
      "Cursor's own names",
      tool("glob_file_search", "glob_pattern", "target_directory?"),
      { glob_pattern: "src/**/*.ts", target_directory: "/w" },
    ],
    [
      "a shell",
      tool("bash", "command"),
      {
        command: "find '/w' -type f -path '*/src/*.ts' -not -path '*/node_modules/*' -not -path '*/.git/*'",
      },
    ],
  ])("%s", (_, definition, args) => {
    expect(call(asked, definition).args).toEqual(args);
  });

  test.each([
    [
      "OpenCode",
      "/w/a.ts\n/w/b c.ts\n\n(Results are truncated. Consider using a more specific path or pattern.)",
      true,
    ],
    [
      "Qwen Code",
      'Found 2 file(s) matching "*" within /w, sorted by modification time (newest first):\n---\n/w/a.ts\n/w/b c.ts',
      false,
    ],
  ])("%s's list", (_, text, clientTruncated) => {
    const mapped = call(asked, tool("glob", "pattern"));
    expect(read(mapped, text)).toEqual({ text: "/w/a.ts\n/w/b c.ts", isError: false });
    expect(mapped.reply(said(text))[0]?.message.value).toMatchObject({
      result: {
        value: { workspaceResults: { "/w": { result: { case: "files", value: { totalFiles: 2, clientTruncated } } } } },
      },
    });
  });

  test("nothing found, nothing to be asked, and a failure", () => {
    const mapped = call(asked, tool("glob", "pattern"));
    expect(read(mapped, "No files found")).toEqual({ text: "", isError: false });
    expect(read(mapped, "no such directory", true)).toEqual({ text: "error: no such directory", isError: true });
    expect(mapExec(exec(searching({})), [tool("glob", "pattern"), tool("bash", "command")])).toBeUndefined();
    expect(mapExec(exec(searching({ glob: "*.{a,b}" })), [tool("bash", "command")])).toBeUndefined();
  });

  test("a directory that may not be read takes nothing from what was found", () => {
    const mapped = call(asked, tool("bash", "command"));
    expect(read(mapped, "/w/a.ts\nfind: ‘/w/x’: Permission denied", true).text).toBe("/w/a.ts");
    expect(read(mapped, "find: ‘/w’: No such file or directory").isError).toBe(true);
  });
});
