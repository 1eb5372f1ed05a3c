import { describe, expect, test } from "vitest";
import { mapExec } from "../../../../../src/drivers/cursor/replies/native/map-exec.ts";
import { call, exec, read, said, tool } from "./support/native-stage.ts";

const path = "/w/it's.txt";
const range = { offset: 5, limit: 10 };
const reading = (more = {}) => ({ case: "readArgs", value: { path, toolCallId: "call", ...more } }) as const;
const writing = (more = {}) =>
  ({ case: "writeArgs", value: { path, fileText: "a\nb\n", toolCallId: "call", ...more } }) as const;
const deleting = { case: "deleteArgs", value: { path, toolCallId: "call" } } as const;

describe("reading", () => {
  test.each([
    ["OpenCode", tool("read", "filePath", "offset#?", "limit#?"), { filePath: path, offset: 5, limit: 10 }],
    ["Claude Code", tool("Read", "file_path", "offset#?", "limit#?"), { file_path: path, offset: 5, limit: 10 }],
    [
      "Gemini CLI",
      tool("read_file", "absolute_path", "offset#?", "limit#?"),
      { absolute_path: path, offset: 5, limit: 10 },
    ],
    ["Copilot", tool("read_file", "filePath", "startLine#", "endLine#"), { filePath: path, startLine: 5, endLine: 14 }],
    ["Continue", tool("Read", "filepath"), { filepath: path }],
    ["Cline", tool("read_file", "path"), { path }],
    ["one that cannot take the whole range", tool("read", "path", "offset#?"), { path }],
    ["a list", tool("read_file", "paths[]"), { paths: [path] }],
    ["a shell", tool("exec_command", "cmd"), { cmd: "sed -n '5,14p' -- '/w/it'\\''s.txt'" }],
  ])("%s", (_, definition, args) => {
    expect(call(reading(range), definition)).toMatchObject({ callId: "call", name: definition.name, args });
    expect(Object.keys(call(reading(range), definition).args)).toEqual(Object.keys(args));
  });

  test("lines are counted as the tool counts them", () => {
    const properties = { path: { type: "string" }, offset: { type: "number", description: "the line (0-based)" } };
    const fromZero = { name: "read_file", description: "", schema: { properties } };
    expect(call(reading({ offset: 5 }), fromZero).args).toEqual({ path, offset: 4 });
    expect(call(reading({ offset: -5 }), fromZero).args).toEqual({ path });
  });

  test.each([
    ["plain", "a\nb\n", "a\nb\n"],
    ["Claude Code", "     9→a\n    10→\tb\n\n<system-reminder>\nmind\n</system-reminder>", "a\n\tb"],
    ["tabs", "1\ta\n2\tb", "a\nb"],
    ["OpenCode", "<file>\n00001| a\n00002| \n00003|  b\n\n(End of file - total 3 lines)\n</file>", "a\n\n b"],
    [
      "OpenCode, newer",
      "<path>/w/x</path>\n<type>file</type>\n<content>\n1: a\n2: b\n\n(Showing lines 1-2 of 9. Use offset=3 to continue.)\n</content>",
      "a\nb",
    ],
    ["a table whose numbers jump", "1\ta\n3\tb", "1\ta\n3\tb"],
    ["numbers on some lines", "1: a\nb", "1: a\nb"],
    ["a file about missing files", "Error: other.txt not found\nmore", "Error: other.txt not found\nmore"],
    ["an empty file", "", ""],
  ])("%s is the file itself", (_, text, content) => {
    expect(read(call(reading(), tool("read", "filePath")), text)).toEqual({ text: content, isError: false });
  });

  test("how long the file is, and whether this is all of it", () => {
    const text =
      "<path>/w/x</path>\n<type>file</type>\n<content>\n5: a\n6: b\n\n(Showing lines 5-6 of 9. Use offset=7.)\n</content>";
    const [whole] = call(reading(range), tool("read", "filePath", "offset#?", "limit#?")).reply(said(text));
    expect(whole?.message.value).toMatchObject({
      result: { case: "success", value: { path, totalLines: 9, truncated: true, rangeApplied: true } },
    });
    const [plain] = call(reading(range), tool("read", "filePath")).reply(said("a\nb\n"));
    expect(plain?.message.value).toMatchObject({
      result: { value: { totalLines: 2, rangeApplied: false, fileSize: 4n } },
    });
  });

  test("the lines before a part and those of it are the lines of the file", () => {
    const lines = ["a", "b", "c", "d", "e"];
    for (let offset = 1; offset <= lines.length; offset++) {
      const part = lines.slice(offset - 1).join("\n");
      const ranged = call(reading({ offset, limit: 10 }), tool("read", "filePath", "offset#?", "limit#?"));
      for (const text of [part, `${part}\n`]) {
        const [answer] = ranged.reply(said(text));
        expect(answer?.message.value).toMatchObject({ result: { value: { totalLines: 5, rangeApplied: true } } });
      }
    }
  });

  test.each([
    ["File does not exist.", true, "fileNotFound"],
    [`Error: File not found: ${path}`, false, "fileNotFound"],
    [`cat: ${path}: No such file or directory`, false, "fileNotFound"],
    [`NotFound: FileSystem.open (${path})`, false, "fileNotFound"],
    ["EACCES: permission denied", true, "error"],
    ["", true, "error"],
  ])("%s", (text, isError, member) => {
    const [reply] = call(reading(), tool("read", "filePath")).reply(said(text, isError));
    expect(reply?.message.value).toMatchObject({ result: { case: member, value: { path } } });
  });

  test("an image is its bytes", () => {
    const data = Uint8Array.of(1, 2, 3);
    const image = { ...said(""), content: [{ type: "image", mediaType: "image/png", data } as const] };
    const [reply] = call(reading(), tool("read", "filePath")).reply(image);
    expect(reply?.message.value).toMatchObject({ result: { value: { output: { case: "data", value: data } } } });
  });

  test("a shell's word on it is taken apart first", () => {
    const mapped = call(reading(), tool("exec_command", "cmd"));
    const codex = (code: number, text: string) =>
      `Wall time: 1 seconds\nProcess exited with code ${code}\nOutput:\n${text}`;
    expect(read(mapped, codex(0, "a\nb\n"))).toEqual({ text: "a\nb\n", isError: false });
    expect(read(mapped, codex(1, "cat: x: Is a directory"))).toEqual({
      text: "error: cat: x: Is a directory",
      isError: true,
    });
  });
});

describe("writing", () => {
  test.each([
    ["OpenCode", tool("write", "filePath", "content"), { filePath: path, content: "a\nb\n" }],
    ["Claude Code", tool("Write", "file_path", "content"), { file_path: path, content: "a\nb\n" }],
    ["Qwen Code", tool("write_file", "file_path", "content"), { file_path: path, content: "a\nb\n" }],
    ["Cline", tool("write_to_file", "path", "content", "line_count#"), { path, content: "a\nb\n", line_count: 2 }],
    ["Continue", tool("create_new_file", "filepath", "contents"), { filepath: path, contents: "a\nb\n" }],
  ])("%s", (_, definition, args) => {
    expect(call(writing(), definition).args).toEqual(args);
  });

  test("bytes are written if they are text", () => {
    const definition = tool("write", "filePath", "content");
    expect(call(writing({ fileBytes: Buffer.from("ü") }), definition).args).toMatchObject({ content: "ü" });
    expect(mapExec(exec(writing({ fileBytes: Uint8Array.of(255) })), [definition])).toBeUndefined();
  });

  test("a patch writes a file, in whole lines", () => {
    const definition = tool("apply_patch", "input");
    const patch = (...lines: string[]) => ["*** Begin Patch", `*** Add File: ${path}`, ...lines, "*** End Patch", ""];
    expect(call(writing(), definition).args).toEqual({ input: patch("+a", "+b").join("\n") });
    expect(call(writing({ fileText: "\n\nx" }), definition).args).toEqual({ input: patch("+", "+", "+x").join("\n") });
    for (const not of [{ fileText: "" }, { path: "a\nb" }]) {
      expect(mapExec(exec(writing(not)), [definition])).toBeUndefined();
    }
    const codex = (code: number, text: string) => `Exit code: ${code}\nWall time: 0 seconds\nOutput:\n${text}`;
    const mapped = call(writing(), definition);
    expect(read(mapped, codex(0, "Success. Updated the following files:\nA x\n"))).toMatchObject({ isError: false });
    expect(read(mapped, codex(1, "no such place"))).toEqual({ text: "error: no such place", isError: true });
    expect(read(mapped, "apply_patch verification failed: nonsense", true).isError).toBe(true);
  });

  test("no shell writes a file", () => {
    expect(mapExec(exec(writing()), [tool("bash", "command")])).toBeUndefined();
  });

  test("the result", () => {
    const mapped = call(writing({ returnFileContentAfterWrite: true }), tool("write", "filePath", "content"));
    expect(mapped.reply(said("Wrote file successfully."))[0]?.message.value).toMatchObject({
      result: { case: "success", value: { path, linesCreated: 2, fileSize: 4, fileContentAfterWrite: "a\nb\n" } },
    });
    expect(read(mapped, "Error: disk is full")).toEqual({ text: "error: Error: disk is full", isError: true });
    expect(read(mapped, "<tool_use_error>read it first</tool_use_error>", true).text).toBe("error: read it first");
  });
});

describe("deleting", () => {
  test.each([
    [
      "a tool for it",
      tool("delete_file", "target_file", "explanation"),
      { target_file: path, explanation: `Delete ${path}` },
    ],
    ["a shell", tool("bash", "command"), { command: "rm -f -- '/w/it'\\''s.txt'" }],
  ])("%s", (_, definition, args) => {
    expect(call(deleting, definition).args).toEqual(args);
  });

  test.each([
    ["", false, "success"],
    ["(no output)", false, "success"],
    ["rm: cannot remove 'x': Operation not permitted", false, "error"],
    ["rm: cannot remove 'x': No such file or directory", false, "fileNotFound"],
    ["Exit code 1", true, "error"],
  ])("%s", (text, isError, member) => {
    const [reply] = call(deleting, tool("bash", "command")).reply(said(text, isError));
    expect(reply?.message.value).toMatchObject({ result: { case: member, value: { path } } });
  });
});
