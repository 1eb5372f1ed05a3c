import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { createAgentTable } from "../../../src/drivers/acp/agent/agent-table.ts";

const folder = "/work";
const agentsOf = (entries: Record<string, unknown>, environment: Record<string, string> = {}) =>
  createAgentTable({ entries, environment, folder });

const programs = mkdtempSync(join(tmpdir(), "excursor-bin-"));
afterEach(() => rmSync(programs, { recursive: true, force: true }));

describe("the agents there are", () => {
  it("are those of the settings and those that are known and installed", () => {
    writeFileSync(join(programs, "gemini"), "");
    chmodSync(join(programs, "gemini"), 0o755);
    const agents = agentsOf({ mine: { command: "my-agent", args: ["--acp"] } }, { PATH: programs });
    expect(agents.get("mine")).toMatchObject({ command: "my-agent", args: ["--acp"], folder });
    expect(agents.get("mine")).toMatchObject({ permissions: { allow: [], others: "ask" } });
    expect(agents.get("gemini")).toMatchObject({ command: "gemini", args: ["--acp"] });
    expect(agents.get("claude-code")).toMatchObject({
      code: "agent_no_command",
      hint: "npm install -g @agentclientprotocol/claude-agent-acp",
    });
  });

  it("take what is set beside what is known", () => {
    const agents = agentsOf(
      {
        opencode: { env: { A: "1" }, passEnv: ["B"], cwd: "/elsewhere", permissions: "deny", allow: ["read"] },
        gemini: { command: "/opt/gemini" },
      },
      { B: "2", C: "3" },
    );
    expect(agents.get("opencode")).toMatchObject({
      command: "opencode",
      args: ["acp"],
      folder: "/elsewhere",
      permissions: { allow: ["read"], others: "deny" },
    });
    const { environment } = agents.get("opencode") as { environment: Record<string, { reveal(): string }> };
    expect(Object.entries(environment).map(([name, value]) => [name, value.reveal()])).toEqual(
      expect.arrayContaining([
        ["B", "2"],
        ["A", "1"],
      ]),
    );
    expect(agents.get("gemini")).toMatchObject({ command: "/opt/gemini", args: [] });
  });

  it.each([
    ["without a command", "x", {}, "agents → x: command: expected the program to run."],
    ["that is no object", "x", "my-agent", /^agents → x: .*object/],
    ["with arguments as one text", "x", { command: "a", args: "--acp" }, /^agents → x: args: /],
    ["with a field that nobody knows", "x", { command: "a", comand: "b" }, /^agents → x: .*comand/],
    ["with a folder that is not absolute", "x", { command: "a", cwd: "here" }, /cwd: expected an absolute path/],
    ["with a policy that does not exist", "x", { command: "a", permissions: "bypass" }, /^agents → x: permissions: /],
    ["with a kind of tool that does not exist", "x", { command: "a", allow: ["write"] }, /allow: .*"read"\|"edit"/],
    ["with a variable that is not set", "x", { command: "a", passEnv: ["NOPE"] }, /passEnv: the variable NOPE/],
    ["with a name of 300 characters", "x".repeat(300), { command: "a" }, /^agents → x{64}: expected a name/],
  ])("one %s is named with the field, and the others work", (_, name, entry, message) => {
    const agents = agentsOf({ [name]: entry, fine: { command: "b" } });
    const error = agents.get(name) as ExcursorError;
    expect(error).toBeInstanceOf(ExcursorError);
    expect(error.kind).toBe("config");
    expect(error.message).toMatch(message);
    expect(agents.get("fine")).toMatchObject({ command: "b" });
  });
});

describe("the permission switch of an agent", () => {
  const settingsOf = (name: string, entry: object) =>
    agentsOf({ [name]: entry }).get(name) as {
      environment: Record<string, { reveal(): string } | undefined>;
      asking?: { mode: string };
    };
  const rulesOf = (name: string, entry: object) => {
    const rules = settingsOf(name, entry).environment["OPENCODE_PERMISSION"]?.reveal();
    return rules === undefined ? undefined : (JSON.parse(rules) as Record<string, string>);
  };

  it("has OpenCode ask about every kind of tool that is not allowed, and leaves the others to its own rules", () => {
    expect(rulesOf("opencode", { allow: ["read"] })).toEqual({
      ...{ grep: "ask", glob: "ask", edit: "ask", bash: "ask", task: "ask" },
      ...{ webfetch: "ask", websearch: "ask", codesearch: "ask", "*_*": "ask" },
    });
    expect(rulesOf("opencode", { allow: ["execute"], permissions: "deny" })).toMatchObject({
      edit: "deny",
      read: "deny",
    });
    expect(rulesOf("opencode", { allow: ["execute"] })).not.toHaveProperty("bash");
  });

  it("leaves reading alone where nothing is said, and everything where everything is allowed", () => {
    expect(rulesOf("opencode", {})).toMatchObject({ edit: "ask", bash: "ask" });
    expect(rulesOf("opencode", {})).not.toHaveProperty("read");
    expect(rulesOf("opencode", { allow: ["*"] })).toBeUndefined();
    expect(settingsOf("gemini", { allow: ["*"] }).asking).toBeUndefined();
  });

  it("is found by the program, too, and what the user sets counts more", () => {
    expect(rulesOf("mine", { command: "/opt/bin/opencode", args: ["acp"] })).toMatchObject({ bash: "ask" });
    expect(rulesOf("opencode", { env: { OPENCODE_PERMISSION: '{"bash":"allow"}' } })).toEqual({ bash: "allow" });
    expect(rulesOf("other", { command: "my-agent" })).toBeUndefined();
    expect(settingsOf("gemini", {}).asking).toMatchObject({ mode: "default" });
    expect(settingsOf("mine", { command: "claude-agent-acp" }).asking).toMatchObject({ mode: "default" });
  });
});
