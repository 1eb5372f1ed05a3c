import { describe, expect, test } from "vitest";
import { mapExec } from "../../../../../src/drivers/cursor/replies/native/map-exec.ts";
import { type Asked, call, exec, read, said, tool } from "./support/native-stage.ts";

describe("listing a directory", () => {
  const asked: Asked = { case: "lsArgs", value: { path: "/w", ignore: ["dist"], toolCallId: "call" } };
  test.each([
    ["OpenCode", tool("list", "path?", "ignore[]?"), { path: "/w", ignore: ["dist"] }],
    ["Claude Code", tool("LS", "path", "ignore[]?"), { path: "/w", ignore: ["dist"] }],
    ["Qwen Code", tool("list_directory", "path", "ignore[]?"), { path: "/w", ignore: ["dist"] }],
    ["Codex", tool("list_dir", "dir_path", "depth#?"), { dir_path: "/w" }],
    ["Cline", tool("list_files", "path", "recursive!"), { path: "/w", recursive: false }],
    ["Continue", tool("List", "dirpath"), { dirpath: "/w" }],
    ["a shell", tool("bash", "command"), { command: "ls -1ap -- '/w'" }],
    ["a glob", tool("glob", "pattern", "path?"), { pattern: "*", path: "/w" }],
  ])("%s", (_, definition, args) => {
    expect(call(asked, definition).args).toEqual(args);
  });

  const flat = "/w\n  /w/src\n  a b.txt\n  c";
  const deep = "/w\n  /w/src\n    /w/src/x\n      y.ts\n    z.ts\n  c";
  test.each([
    ["a shell", "./\n../\nsrc/\na b.txt\nc\n", flat],
    ["Qwen Code", "Directory listing for /w:\n[DIR] src\na b.txt\nc", flat],
    ["names in brackets", "(app)\n[DIR] (auth)\n(3 more entries)", "/w\n  /w/(auth)\n  (app)"],
    ["full paths", "/w/\n/w/src/\n/w/a b.txt\n/w/c", flat],
    ["OpenCode", "/w/\n  src/\n    x/\n      y.ts\n    z.ts\n  c", deep],
    ["Claude Code", "- /w/\n  - src/\n    - x/\n      - y.ts\n    - z.ts\n  - c\n\nNOTE: mind the files.", deep],
    ["Codex", "Absolute path: /w\nsrc/\n  x/\n    y.ts\n  z.ts\nc", deep],
    ["a drawn tree", "/w/\n├── src/\n│   ├── x/\n│   │   └── y.ts\n│   └── z.ts\n└── c", deep],
    ["reminders behind it", "src/\na b.txt\nc\n\n<system-reminder>\nx\n</system-reminder>", flat],
    ["nothing", "Directory /w is empty.", "/w"],
  ])("%s's words are a tree", (_, text, tree) => {
    expect(read(call(asked, tool("list", "path")), text)).toEqual({ text: tree, isError: false });
  });

  test.each([
    "src/\na b.txt\nc\n[exit code 0]",
    "Exit code: 0\nsrc/\na b.txt\nc\n",
    "src/\na b.txt\nc\n(exit code: 0)\n",
  ])("how a shell says that it ended is no entry: %j", (text) =>
    expect(read(call(asked, tool("bash", "command")), text)).toEqual({ text: flat, isError: false }),
  );

  test("a failure", () => {
    const failed = (text: string) => ({ text: `error: ${text}`, isError: true });
    expect(read(call(asked, tool("list", "path")), "not there", true)).toEqual(failed("not there"));
    expect(read(call(asked, tool("bash", "command")), "ls: /w: not there")).toEqual(failed("ls: /w: not there"));
  });

  test("the workspace itself", () => {
    const root = { case: "lsArgs", value: { path: "", toolCallId: "call" } } as const;
    expect(call(root, tool("list", "path?")).args).toEqual({});
    expect(call(root, tool("LS", "path")).args).toEqual({ path: "." });
  });
});

describe("fetching a page", () => {
  const url = "https://example.com/?q='";
  const asked = { case: "fetchArgs", value: { url, toolCallId: "call" } } as const;
  test.each([
    ["OpenCode", tool("webfetch", "url", "format"), { url, format: "markdown" }],
    ["Claude Code", tool("WebFetch", "url", "prompt"), { url, prompt: expect.stringContaining("whole content") }],
    ["Qwen Code", tool("web_fetch", "url", "prompt"), { url, prompt: expect.stringContaining("whole content") }],
    ["Gemini CLI", tool("web_fetch", "prompt"), { prompt: expect.stringContaining(url) }],
    ["Continue", tool("Fetch", "url"), { url }],
    ["Copilot", tool("fetch_webpage", "urls[]", "query"), { urls: [url], query: expect.any(String) }],
  ])("%s", (_, definition, args) => {
    expect(call(asked, definition).args).toEqual(args);
  });

  test("a form that the tool does not know is not asked for", () => {
    const schema = { properties: { url: { type: "string" }, format: { enum: ["text", "html"] } } };
    expect(call(asked, { name: "fetch", description: "", schema }).args).toEqual({ url });
  });

  test("the result", () => {
    const mapped = call(asked, tool("webfetch", "url"));
    expect(mapped.reply(said("# Hello"))[0]?.message.value).toMatchObject({
      result: { case: "success", value: { url, content: "# Hello", statusCode: 200 } },
    });
    expect(read(mapped, "404", true)).toEqual({ text: "error: 404", isError: true });
    expect(mapExec(exec(asked), [tool("bash", "command")])).toBeUndefined();
  });
});

describe("asking for problems", () => {
  const asked = { case: "diagnosticsArgs", value: { path: "/w/a.ts", toolCallId: "call" } } as const;
  test.each([
    ["Cursor's own names", tool("read_lints", "paths[]?"), { paths: ["/w/a.ts"] }],
    ["Copilot", tool("get_errors", "filePaths[]"), { filePaths: ["/w/a.ts"] }],
    ["Crush and Zed", tool("diagnostics", "path?"), { path: "/w/a.ts" }],
  ])("%s", (_, definition, args) => {
    expect(call(asked, definition).args).toEqual(args);
  });

  test.each([
    ["/w/a.ts:3:5: error: bad", "/w/a.ts:3: error: bad"],
    ["ERROR [3:5] bad\nWARN [4:1] meh", "/w/a.ts:3: bad\n/w/a.ts:4: meh"],
    ["Line 3: bad", "/w/a.ts:3: bad"],
    ["bad in general", "/w/a.ts:0: bad in general"],
    ["No linter errors found.", ""],
  ])("%s", (text, expected) => {
    expect(read(call(asked, tool("diagnostics", "path")), text)).toEqual({ text: expected, isError: false });
  });

  test("a client without such a tool has none", () => {
    expect(mapExec(exec(asked), [tool("bash", "command"), tool("read", "path")])).toBeUndefined();
  });
});
