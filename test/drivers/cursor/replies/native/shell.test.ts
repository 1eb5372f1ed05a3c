import { describe, expect, test } from "vitest";
import { mapExec } from "../../../../../src/drivers/cursor/replies/native/map-exec.ts";
import { call, exec, read, said, tool } from "./support/native-stage.ts";

const shell = (command: string, workingDirectory = "", more = {}) =>
  ({ case: "shellArgs", value: { command, workingDirectory, toolCallId: "call", ...more } }) as const;

describe("a command is a call of the client's shell", () => {
  test.each([
    [
      "OpenCode",
      tool("bash", "command", "workdir?", "description"),
      { command: "ls -a", workdir: "/w", description: "ls -a" },
    ],
    ["Claude Code", tool("Bash", "command", "description?"), { command: "cd '/w' && ls -a" }],
    ["Codex", tool("exec_command", "cmd", "workdir?", "yield_time_ms#?"), { cmd: "ls -a", workdir: "/w" }],
    ["Codex, older", tool("shell", "command[]", "workdir?"), { command: ["bash", "-lc", "ls -a"], workdir: "/w" }],
    [
      "Qwen Code",
      tool("run_shell_command", "command", "is_background!", "directory?"),
      { command: "ls -a", directory: "/w", is_background: false },
    ],
    ["Continue", tool("run_terminal_command", "command"), { command: "cd '/w' && ls -a" }],
    [
      "Cline",
      tool("execute_command", "command", "requires_approval!"),
      { command: "cd '/w' && ls -a", requires_approval: true },
    ],
    ["Zed", tool("terminal", "command", "cd"), { command: "ls -a", cd: "/w" }],
    [
      "Copilot",
      tool("runInTerminal", "command", "explanation", "goal", "isBackground!", "timeout#"),
      { command: "cd '/w' && ls -a", explanation: "ls -a", goal: "ls -a", isBackground: false, timeout: 120_000 },
    ],
  ])("%s", (_, definition, args) => {
    expect(call(shell("ls -a", "/w"), definition)).toMatchObject({ callId: "call", name: definition.name, args });
  });

  test("the best of several tools is taken", () => {
    const tools = [tool("terminal", "command"), tool("bash", "nothing?"), tool("Shell", "command")];
    expect(call(shell("ls"), ...tools).name).toBe("Shell");
  });

  test("a tool that wants what nobody can fill is none, except by its own default", () => {
    expect(mapExec(exec(shell("ls")), [tool("bash", "command", "secret")])).toBeUndefined();
    const schema = { properties: { command: {}, mode: { default: "fast" }, cwd: { type: ["string", "null"] } } };
    const strict = { name: "bash", description: "", schema: { ...schema, required: ["command", "mode", "cwd"] } };
    expect(call(shell("ls"), strict).args).toEqual({ command: "ls", mode: "fast", cwd: "." });
  });

  test("no client without a shell has one", () => {
    expect(mapExec(exec(shell("ls")), [tool("read", "filePath")])).toBeUndefined();
    expect(mapExec(exec(shell("ls")), [])).toBeUndefined();
  });

  test("what shall go on in the background needs a tool that can do that", () => {
    const asked = shell("npm start", "", { isBackground: true });
    expect(mapExec(exec(asked), [tool("bash", "command")])).toBeUndefined();
    expect(call(asked, tool("Bash", "command", "run_in_background!?")).args).toMatchObject({ run_in_background: true });
  });

  test("of several commands none runs where the directory is missing", () => {
    expect(call(shell("a || b", "/it's"), tool("Bash", "command")).args).toEqual({
      command: "cd '/it'\\''s' && {\na || b\n}",
    });
  });
});

describe("a client whose shell takes free text", () => {
  const codex = (description: string) => ({ ...tool("exec", "input"), description });
  const CODEX = codex(
    "Run JavaScript code. All nested tools are available, for example `await tools.exec_command(...)`.",
  );

  /** As Codex runs it: the shell gives back what it has, and a session while the command goes on. */
  async function runScript(script: string, pieces: readonly string[], exitCode: number) {
    const asked: unknown[] = [];
    const written: string[] = [];
    const next = async (args: unknown) => {
      asked.push(args);
      const output = pieces[asked.length - 1] ?? "";
      const isOver = asked.length >= pieces.length;
      return { output, wall_time_seconds: 0.1, ...(isOver ? { exit_code: exitCode } : { session_id: 5 }) };
    };
    const run = new Function("tools", "text", `return (async () => {\n${script}\n})()`);
    await run({ exec_command: next, write_stdin: next }, (text: string) => written.push(text));
    return { asked, said: `Script completed\nWall time 0.3 seconds\nOutput:\n${written.join("")}` };
  }

  test("Codex, whose shell is a function of a script: the command runs to its end, and its outcome comes back", async () => {
    const command = "echo \"`$HOME`\" 'it''s' \\n \u2028; exit 3";
    const mapped = call(shell(command, "/w"), CODEX);
    const { asked, said: output } = await runScript(String(mapped.args["input"]), ["one\n", "two\n"], 3);
    expect(asked).toMatchObject([{ cmd: command, workdir: "/w" }, { session_id: 5 }]);
    expect(mapped.reply(said(output))).toMatchObject([
      { message: { value: { result: { case: "failure", value: { exitCode: 3, stdout: "one\ntwo\n" } } } } },
    ]);
  });

  test("what else the model wants natively goes the same way", async () => {
    const mapped = call({ case: "readArgs", value: { path: "/w/a", toolCallId: "call" } }, CODEX);
    const { said: output } = await runScript(String(mapped.args["input"]), ["found\n"], 0);
    expect(read(mapped, output)).toEqual({ text: "found\n", isError: false });
  });

  test("a script that failed is a command that failed", () => {
    const failed = "Script failed\nWall time 0.0 seconds\nOutput:\nScript error:\nError: no";
    expect(read(call(shell("x"), CODEX), failed)).toEqual({
      text: "Script error:\nError: no\n[exit 1]",
      isError: true,
    });
  });

  test("the text of any other shell is the command, of a script in another language nothing", () => {
    expect(call(shell("ls", "/w"), tool("shell", "input")).args).toEqual({ input: "cd '/w' && ls" });
    expect(mapExec(exec(shell("ls")), [codex("Runs JavaScript.")])).toBeUndefined();
  });

  test("nothing of it goes on in the background", () => {
    expect(mapExec(exec(shell("npm start", "", { isBackground: true })), [CODEX])).toBeUndefined();
  });
});

describe("how a command ended", () => {
  test.each([
    ["nothing said", "hello\n", false, 0, "hello\n"],
    ["nothing said of a failure", "boom", true, 1, "boom"],
    ["Claude Code", "Exit code 2\nboom", true, 2, "Exit code 2\nboom"],
    [
      "Codex",
      "Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 3\nOriginal token count: 1\nOutput:\nboom\n",
      false,
      3,
      "boom\n",
    ],
    ["Codex, freeform", "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine", false, 0, "fine"],
    ["Codex, older", '{"output":"boom","metadata":{"exit_code":4,"duration_seconds":0.1}}', false, 4, "boom"],
    [
      "Qwen Code",
      "Command: x\nOutput: boom\nError: (none)\nExit Code: 5\nSignal: (none)\nProcess Group PGID: 9",
      false,
      5,
      undefined,
    ],
    ["Continue", "Error (exit code 6): boom", true, 6, undefined],
    ["Cline", "Command executed. Exit code: 7\nOutput:\nboom", false, 7, undefined],
    ["tags", "<output>boom</output>\n<exit_code>8</exit_code>", false, 8, undefined],
    ["the last line", "boom\nexit code: 9", false, 9, undefined],
    ["a number that fits nowhere", "boom\nexit code: -1073741819", false, 1, undefined],
    ["OpenCode without output", "(no output)", false, 0, ""],
    [
      "reminders behind it, which stay",
      "boom\nexit code: 9\n\n<system-reminder>\na\n</system-reminder>\n\n<system-reminder>b</system-reminder>\n",
      false,
      9,
      "boom\nexit code: 9\n\n<system-reminder>\na\n</system-reminder>\n\n<system-reminder>b</system-reminder>",
    ],
    ["the end of a reminder alone", "</system-reminder>", false, 0, "</system-reminder>"],
    ["a command that speaks of codes", "one\nexit code: 2\nthree", false, 0, "one\nexit code: 2\nthree"],
    ["JSON of the command's own", '{"exit_code":1}', false, 0, '{"exit_code":1}'],
  ])("%s", (_, text, isError, code, stdout = text) => {
    const definition = tool("bash", "command", "workdir?");
    const result = call(shell("x", "/w"), definition).reply(said(text, isError));
    expect(result).toMatchObject([
      {
        id: 7,
        message: {
          case: "shellResult",
          value: {
            result: {
              case: code === 0 ? "success" : "failure",
              value: { command: "x", workingDirectory: "/w", exitCode: code, stdout },
            },
          },
        },
      },
    ]);
    const streamed = call({ ...shell("x", "/w"), case: "shellStreamArgs" }, definition).reply(said(text, isError));
    expect(streamed).toMatchObject([
      { id: 7, message: { value: { event: { case: "start" } } } },
      { id: 7, message: { value: { event: { case: "stdout", value: { data: stdout } } } } },
      { id: 7, message: { value: { event: { case: "exit", value: { code, cwd: "/w" } } } } },
    ]);
  });

  test("the model reads what the client said", () => {
    const mapped = call({ ...shell("x"), case: "shellStreamArgs" }, tool("bash", "command"));
    expect(read(mapped, "hello\n")).toEqual({ text: "hello\n", isError: false });
    expect(read(mapped, "Exit code 2\nboom", true)).toEqual({ text: "Exit code 2\nboom\n[exit 2]", isError: true });
  });

  test("another harness has its own result", () => {
    const mapped = call({ ...shell("x"), case: "miniSweAgentBashArgs" }, tool("bash", "command"));
    expect(mapped.reply(said("hello"))[0]?.message.case).toBe("miniSweAgentBashResult");
  });
});
