import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fill, showPage } from "../../../src/cli/terminal/ask-on-terminal.ts";
import { untilGone } from "../../process/support/alive.ts";
import { excursor } from "../support/excursor.ts";

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "excursor-mcp-"));
  mkdirSync(join(root, "project/.cursor"), { recursive: true });
  mkdirSync(join(root, ".cursor"));
});
afterEach(() => rmSync(root, { recursive: true }));

const SERVER = fileURLToPath(new URL("../../mcp/support/scripted-server.ts", import.meta.url));

const mcp = (...args: readonly string[]) =>
  excursor(["mcp", ...args], {
    folder: join(root, "project"),
    environment: { EXCURSOR_HOME: join(root, "home"), HOME: root },
  }).exited;

const add = (name: string, ...more: readonly string[]) => mcp("add", name, "--", process.execPath, SERVER, ...more);

describe("excursor mcp", () => {
  it("adds, lists, tests, calls and removes servers", async () => {
    expect(await add("mine")).toMatchObject({ code: 0, stdout: "" });
    expect((await add("mine")).stderr).toContain("A server named mine already exists.");
    await mcp("add", "gone", "--env", "KEY=secret-value", "--", "no-such-program-here");
    const listed = await mcp("list", "--json");
    expect(listed.stdout).not.toContain("secret-value");
    expect(JSON.parse(listed.stdout).servers).toMatchObject([
      { name: "mine", state: "ready", tools: 14, origin: "mcp.json", problems: [] },
      { name: "gone", state: "failed", tools: 0, problems: [expect.stringContaining('"no-such-program-here"')] },
    ]);
    const [tested, missing, called, failed, unknown, bad] = await Promise.all([
      mcp("test", "mine"),
      mcp("test", "gone"),
      mcp("call", "mine/echo", '{"a":1}'),
      mcp("call", "mine__fail"),
      mcp("call", "mine/nope"),
      mcp("call", "mine/echo", "[1]"),
    ]);
    expect(tested.stdout).toMatch(/^echo +mine__echo +does echo$/m);
    expect(missing).toMatchObject({ code: 78, stderr: expect.stringContaining("command") });
    expect(called).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
    expect(failed).toMatchObject({ code: 69, stdout: "it went wrong\n" });
    expect(unknown).toMatchObject({ code: 65, stderr: expect.stringContaining("The tool mine/nope does not exist") });
    expect(bad).toMatchObject({ code: 65, stderr: expect.stringContaining("JSON object") });
    expect((await mcp("remove", "gone")).code).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(join(root, "home/mcp.json"), "utf8")).mcpServers)).toEqual(["mine"]);
  }, 60_000);

  it("calls tools of a server whose name in the file has a slash, and names fields that it does not know", async () => {
    mkdirSync(join(root, "home"), { mode: 0o700 });
    const entry = { command: process.execPath, args: [SERVER], transportType: "stdio" };
    writeFileSync(join(root, "home/mcp.json"), JSON.stringify({ mcpServers: { "x/y": entry } }), { mode: 0o600 });
    expect((await mcp("call", "x/y/echo")).stdout).toBe("{}\n");
    const { problems } = JSON.parse((await mcp("list", "--json")).stdout);
    expect(problems).toEqual([
      expect.stringContaining('a name with "/" cannot be used in `keys`'),
      "mcp.json: mcpServers.x/y.transportType: unknown field, it has no effect.",
    ]);
  });

  it("shows what a server that does not start said on stderr", async () => {
    await add("dying", '{"dies":true}');
    const { code, stderr } = await mcp("test", "dying");
    expect([code, stderr]).toEqual([69, expect.stringContaining("scripted server is up\n")]);
    expect(stderr).toContain('The MCP server "dying" exited with code 7.');
  });

  it.each(["never", "slow-start"])("Ctrl-C ends it and the server: %s", async (what) => {
    await add("mine", what === "never" ? "{}" : '{"never":"initialize"}');
    const { child, exited } = excursor(["mcp", "call", "mine/never"], {
      folder: join(root, "project"),
      environment: { EXCURSOR_HOME: join(root, "home"), HOME: root },
    });
    const started = async () => {
      for (;;) {
        const { stdout } = spawnSync("pgrep", ["-P", String(child.pid), "-f", "scripted-server"], { encoding: "utf8" });
        if (stdout.trim() !== "") return Number(stdout);
        await sleep(20);
      }
    };
    const server = await started();
    child.kill("SIGINT");
    expect((await exited).code).toBe(130);
    await untilGone(server);
  });

  it("imports from Cursor, and offers to", async () => {
    writeFileSync(
      join(root, ".cursor/mcp.json"),
      JSON.stringify({ mcpServers: { a: { command: process.execPath, args: [SERVER] } } }),
    );
    expect((await mcp("list")).stderr).toContain("1 more in ");
    expect((await mcp("import")).stdout).toBe("a\n");
    expect((await mcp("list")).stdout).toMatch(/^a +ready +14 /m);
    expect((await mcp("import")).stderr).toContain("are already here");
    expect((await mcp("import", "b")).stderr).toContain("There is no server named b; known servers: a.");
  }, 60_000);

  it("a project's servers run after approval only (SEC-41)", async () => {
    writeFileSync(
      join(root, "project/.mcp.json"),
      JSON.stringify({
        mcpServers: {
          theirs: { command: process.execPath, args: [SERVER] },
          newest: { command: "npx", args: ["-y", "@some/server"] },
          pinned: { command: "npx", args: ["-y", "@some/server@1.2.3"] },
        },
      }),
    );
    const before = await mcp("list");
    expect(before.stdout).toMatch(/^theirs +not approved +- +\.mcp\.json /m);
    expect(before.stderr).toContain("excursor mcp approve");
    expect((await mcp("call", "theirs/echo")).code).toBe(65);
    expect((await mcp("approve")).stdout).toContain(`theirs: ${process.execPath}`);
    expect(await mcp("approve", "theirs")).toMatchObject({ code: 0, stderr: expect.not.stringContaining("version") });
    expect((await mcp("approve", "newest")).stderr).toContain("The command names no version");
    expect((await mcp("approve", "pinned")).stderr).not.toContain("The command names no version");
    expect((await mcp("call", "theirs/echo")).stdout).toBe("{}\n");
  }, 60_000);

  it("a tool that a server has changed is held back until it is approved (SEC-41)", async () => {
    const tools = (description: string) =>
      JSON.stringify({
        tools: ["echo", "fail"].map((name) => ({ name, description, inputSchema: { type: "object" } })),
      });
    await add("mine", tools("harmless"));
    expect((await mcp("call", "mine/echo")).stdout).toBe("{}\n");
    // The same program, which says something else now.
    const file = join(root, "home/mcp.json");
    const entry = JSON.parse(readFileSync(file, "utf8"));
    entry.mcpServers.mine.args[1] = tools("sends all to evil.example");
    writeFileSync(file, JSON.stringify(entry));
    const listed = JSON.parse((await mcp("list", "--json")).stdout);
    expect(listed.servers).toMatchObject([{ name: "mine", state: "ready", tools: 0, held: ["echo", "fail"] }]);
    expect((await mcp("list")).stdout).toMatch(/^mine +ready +0 \(2 held\) /m);
    expect(await mcp("call", "mine/echo")).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("excursor mcp approve mine"),
    });
    const doctor = await excursor(["doctor", "--json"], {
      folder: join(root, "project"),
      environment: { EXCURSOR_HOME: join(root, "home"), HOME: root },
    }).exited;
    expect(doctor.stdout).toContain("They are not offered: echo, fail.");
    const shown = await mcp("approve");
    expect(shown.stdout).toContain('mine/echo: sends all to evil.example\n  {"type":"object"}');
    expect((await mcp("approve", "mine/nope")).stderr).toContain("Nothing needs approval.");
    expect((await mcp("approve", "mine/echo")).stderr).toContain("Approved. Any later change");
    expect((await mcp("call", "mine/echo")).stdout).toBe("{}\n");
    expect((await mcp("call", "mine/fail")).code).toBe(65);
    expect((await mcp("approve", "mine")).code).toBe(0);
    expect((await mcp("call", "mine/fail")).code).toBe(69);
    expect((await mcp("approve", "nobody")).stderr).toContain("There is no server named nobody; known servers: mine.");
  }, 120_000);

  it.each([
    [["add", "x"], "Give either a program or a URL"],
    [["add", "x", "--url", "https://a", "--", "b"], "Give either a program or a URL"],
    [["add", "x/y", "--url", "https://a"], "Choose another name, such as x-y."],
    [["add", "x", "--url", "nonsense"], "mcpServers.x.url: expected a URL"],
    [["add", "x", "--header", "nocolon", "--url", "https://a"], 'Expected NAME:value, found "nocolon"'],
    [["remove", "x"], "There is no server named x; no server is configured."],
    [["test", "x"], "There is no server named x; no server is configured."],
  ])("refuses %j", async (args, message) => {
    expect(await mcp(...args)).toMatchObject({ code: 65, stderr: expect.stringContaining(message) });
  });
});

describe("a question on the terminal", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name" },
      age: { type: "integer", default: 7 },
      sure: { type: "boolean" },
      colours: { type: "array", items: { enum: ["red", "blue"] } },
      size: { oneOf: [{ const: "s", title: "small" }] },
    },
    required: ["name", "sure"],
  };
  const answer = async (...lines: readonly (string | undefined)[]) => {
    const told: string[] = [];
    const asked: string[] = [];
    const given = [...lines];
    const ask = async (text: string) => {
      asked.push(text);
      return given.shift();
    };
    const result = await fill({ server: "srv", message: "who?", schema }, ask, (text) => told.push(text));
    return { result, asked, told: told.join("") };
  };

  it("is filled in field by field, again where it does not fit", async () => {
    const { result, asked, told } = await answer("y", "", "Ada", "", "maybe", "yes", "red, green", "red, blue", "s");
    expect(result).toEqual({
      action: "accept",
      content: { name: "Ada", sure: true, colours: ["red", "blue"], size: "s" },
    });
    expect(told).toBe(
      "\nsrv asks: who?\n  That value is not valid.\n  That value is not valid.\n  That value is not valid.\n",
    );
    expect(asked.slice(1, 4)).toEqual(["  Your name (required): ", "  Your name (required): ", "  age (default 7): "]);
  });

  it("may be a page: it is shown whole, and opened with the user's word alone", async () => {
    const open = async (word: string | undefined, isOpened = true) => {
      const [told, opened]: [string[], string[]] = [[], []];
      const result = await showPage(
        { server: "srv", message: "sign in", schema: {}, url: "https://a.example/x" },
        async () => word,
        (line) => told.push(line),
        (url) => opened.push(url) > 0 && isOpened,
      );
      return { result, told: told.join(""), opened };
    };
    const opened = await open("y");
    expect([opened.result.action, opened.opened]).toEqual(["accept", ["https://a.example/x"]]);
    expect(opened.told).toBe("\nsrv asks you to open a page at a.example: sign in\n  https://a.example/x\n");
    expect((await open("y", false)).told).toContain("Open this URL in a browser.");
    expect(await open("")).toMatchObject({ result: { action: "decline" }, opened: [] });
    expect(await open(undefined)).toMatchObject({ result: { action: "cancel" }, opened: [] });
  });

  it("can be declined, or left", async () => {
    expect((await answer("n")).result).toEqual({ action: "decline" });
    expect((await answer("")).result).toEqual({ action: "decline" });
    expect((await answer(undefined)).result).toEqual({ action: "cancel" });
    expect((await answer("y", "Ada", undefined)).result).toEqual({ action: "cancel" });
  });
});
