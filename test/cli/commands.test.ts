import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runDemoTool } from "../../src/cli/demo-tools.ts";
import { formatEnvironment } from "../../src/cli/terminal/format-environment.ts";
import { printable } from "../../src/core/printable.ts";
import { excursor } from "./support/excursor.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(args, { environment: { EXCURSOR_HOME: home, ...environment } });
const outcome = (...args: Parameters<typeof run>) => run(...args).exited;

describe("excursor key and env", () => {
  it("show the same key, made on the first call", async () => {
    const key = await outcome(["key"]);
    expect([key.code, key.stderr]).toEqual([0, ""]);
    expect(key.stdout).toMatch(/^exc_[\w-]{43}\n$/);
    expect(key.stdout).toBe(readFileSync(join(home, "key"), "utf8"));
    const { firstLine } = run(["serve", "--demo", "--port", "0"]);
    const url = (await firstLine()).slice("ready ".length);
    const sh = await outcome(["env", "--shell", "sh"]);
    expect(sh.stdout).toBe(`export OPENAI_BASE_URL='${url}/v1'\nexport OPENAI_API_KEY='${key.stdout.trim()}'\n`);
    const json = await outcome(["env", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key.stdout.trim() });
  });

  it("show the key of the settings, where there is one", async () => {
    expect((await outcome(["key"], { EXCURSOR_KEY: "from-the-environment" })).stdout).toBe("from-the-environment\n");
  });

  it("quote for each shell", () => {
    const variables = { A: `it's \\ "$x"` };
    expect(formatEnvironment(variables, "sh")).toBe(`export A='it'\\''s \\ "$x"'\n`);
    expect(formatEnvironment(variables, "fish")).toBe(`set -gx A 'it\\'s \\\\ "$x"'\n`);
    expect(formatEnvironment(variables, "powershell")).toBe(`$env:A = 'it''s \\ "$x"'\n`);
  });
});

describe("excursor config", () => {
  it("explains each value, secrets aside", async () => {
    writeFileSync(join(home, "config.json"), '{\n  "token": "the-token-itself"\n}', { mode: 0o600 });
    const { code, stdout } = await outcome(["config"], { EXCURSOR_PORT: "99", EXCURSOR_PROT: "1" });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^port +99 +EXCURSOR_PORT/m);
    expect(stdout).toMatch(/^token +\[redacted\] +\S+config\.json:2/m);
    expect(stdout).toMatch(/^limits\.drainMs +30000 +default/m);
    expect(stdout).toContain('did you mean "EXCURSOR_PORT"?\n');
    expect(stdout).not.toContain("the-token-itself");
    const json = JSON.parse((await outcome(["config", "--json"])).stdout) as { settings: object[] };
    expect(json.settings).toContainEqual(expect.objectContaining({ key: "token", value: "[redacted]" }));
  });

  it("names what is wrong and exits with 78", async () => {
    writeFileSync(join(home, "config.json"), '{\n  "prot": 1,\n  "driver": 3\n}', { mode: 0o600 });
    const { code, stderr } = await outcome(["config"]);
    expect(code).toBe(78);
    expect(stderr).toContain(`${join(home, "config.json")}:2: there is no setting "prot"; did you mean "port"?`);
    expect(stderr).toContain("config.json:3: driver: expected one of cursor, cursor-legacy, found 3.");
  });
});

describe("excursor chat", () => {
  it("writes the answer, and only that, to stdout", async () => {
    const { code, stdout, stderr } = await outcome(["chat", "--demo", "@sim think hm ;; say hello", "world"]);
    expect([code, stdout, stderr]).toEqual([0, "hello world\n", ""]);
  });

  it("asks a running gateway like any other client", async () => {
    const { firstLine } = run(["serve", "--demo", "--port", "0"]);
    const url = (await firstLine()).slice(6);
    const chat = await outcome(["chat", "--url", `${url}/v1`, "-s", "be brief", "@sim say {{system}}"]);
    expect([chat.code, chat.stdout]).toEqual([0, expect.stringContaining("be brief")]);
    const wrong = await outcome(["chat", "--url", url, "--key", "wrong-key", "hello"]);
    expect([wrong.code, wrong.stderr]).toEqual([77, expect.stringContaining("The API key is wrong.")]);
    const unknown = await outcome(["chat", "--url", url, "-m", "no-such-model", "hello"]);
    expect([unknown.code, unknown.stderr]).toEqual([65, expect.stringContaining("no-such-model")]);
    const models = await outcome(["models", "--url", url]);
    expect(models.stdout).toMatch(/^MODEL +NAME/);
    expect(models.stdout).toMatch(/^auto +/m);
  });

  it("fails as the answer fails", async () => {
    const { code, stdout, stderr } = await outcome([
      "chat",
      "--demo",
      "@sim say half a ;; fail internal ERROR_PROVIDER_ERROR it broke",
    ]);
    expect([code, stdout, stderr]).toEqual([69, "half a\n", expect.stringContaining("error: ")]);
  });

  it("--tools runs two harmless ones, and goes on with what they give", async () => {
    const prompt =
      '@sim say let me see ;; call roll_dice {"count":2,"sides":2} ;; call current_time {"timezone":"UTC"} ;; say {{result.0}}, {{result.1}}, {{reused}}';
    const { code, stdout, stderr } = await outcome(["chat", "--demo", "--tools", prompt]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^let me see\n[12] [12], \w+day, .* UTC, stream\n$/)]);
    expect(stderr).toMatch(/^→ roll_dice \{"count":2,"sides":2\}\n← [12] [12]\n→ current_time .*\n← .* UTC\n$/);
  });

  it("what is wrong with a call is its result; without --tools there are none to call", async () => {
    const prompt =
      '@sim call roll_dice {"sides":1} ;; call current_time {"timezone":"Nowhere"} ;; say {{result.0}} {{result.1}}';
    expect((await outcome(["chat", "--demo", "--tools", prompt])).stdout).toMatch(
      /^error: sides must be a whole number from 2 to 1000 error: .*Nowhere.*\n$/,
    );
    expect((await outcome(["chat", "--demo", "@sim say {{tools}}."])).stdout).toBe(".\n");
    expect(runDemoTool("rm", "{}")).toBe("error: there is no tool rm; there are current_time, roll_dice");
    expect(runDemoTool("toString", "{}")).toContain("error: there is no tool");
    expect(runDemoTool("roll_dice", "{")).toContain("error: ");
  });

  it("says where there is no gateway, and nothing to ask", async () => {
    const nowhere = await outcome(["chat", "--url", "http://127.0.0.1:2", "hello"]);
    expect([nowhere.code, nowhere.stderr]).toEqual([69, expect.stringContaining("excursor serve")]);
    const nothing = await outcome(["chat", "--demo"]);
    expect([nothing.code, nothing.stderr]).toEqual([65, expect.stringContaining("The question is empty")]);
  });

  it("Ctrl-C takes the question back", async () => {
    const { child, exited } = run(["chat", "--demo", "@sim say begun\n@sim silent 60000"]);
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    child.kill("SIGINT");
    expect((await exited).code).toBe(130);
  });
});

it("excursor models --demo --json gives the list as clients get it", async () => {
  const { code, stdout } = await outcome(["models", "--demo", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ object: "list", data: expect.arrayContaining([]) });
});

it("text from elsewhere cannot command the terminal", () => {
  expect(printable("a\u001b[31mb\u001b]0;title\u0007c\u009b2Jd\r\u0008e\u202ef\n\tg")).toBe("abcdef\n\tg");
});

it.each(["serve", "chat", "models", "key", "env", "config"])("excursor %s --help helps", async (command) => {
  const { code, stdout, stderr } = await outcome([command, "--help"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`Usage: excursor ${command}`);
});
