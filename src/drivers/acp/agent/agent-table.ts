import { accessSync, constants } from "node:fs";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { z } from "zod";
import { ExcursorError } from "../../../core/errors.ts";
import { Secret } from "../../../core/secret.ts";
import type { AgentSettings, AgentTable, AskingMode } from "../agent-settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface KnownAgent {
  readonly displayName: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly installHint: string;
  readonly asking?: AskingMode;
  readonly toolRules?: ToolRules;
}

/** ACP's kinds of tools. `*` means all. */
const KINDS = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
  "*",
] as const;

/** Allowed without a question by default: these kinds neither change nor send anything. */
const QUIET_KINDS: readonly string[] = ["read", "search", "think"];

/** A variable with permission rules for single tools, as JSON. */
interface ToolRules {
  readonly variable: string;
  /** Names of the agent's tools, by kind. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
}

/** Agents that need no setting if their program is in PATH. */
const KNOWN_AGENTS: Readonly<Record<string, KnownAgent>> = {
  "claude-code": {
    displayName: "Claude Code (ACP)",
    command: "claude-agent-acp",
    args: [],
    installHint: "npm install -g @agentclientprotocol/claude-agent-acp",
    asking: { mode: "default", looser: ["acceptEdits", "auto", "dontAsk", "bypassPermissions"] },
  },
  gemini: {
    displayName: "Gemini CLI (ACP)",
    command: "gemini",
    args: ["--acp"],
    installHint: "npm install -g @google/gemini-cli",
    asking: { mode: "default", looser: ["autoEdit", "yolo"] },
  },
  opencode: {
    displayName: "OpenCode (ACP)",
    command: "opencode",
    args: ["acp"],
    installHint: "npm install -g opencode-ai",
    toolRules: {
      variable: "OPENCODE_PERMISSION",
      // The rules are merged into the user's own, and the last match wins: a rule for `*` would override theirs.
      tools: {
        read: ["read", "list"],
        search: ["grep", "glob"],
        edit: ["edit"],
        execute: ["bash"],
        fetch: ["webfetch", "websearch", "codesearch"],
        think: ["task"],
        // Tools of MCP servers are called SERVER_TOOL.
        other: ["*_*"],
      },
    },
  },
  cursor: {
    displayName: "Cursor CLI (ACP)",
    command: "cursor-agent",
    args: ["acp"],
    installHint: "Install the Cursor CLI.",
  },
};

const NAME = /^[\w.-]{1,64}$/;

const entrySchema = z.strictObject({
  displayName: z.string().min(1).max(128).optional(),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string().min(1), z.string()).optional(),
  passEnv: z.array(z.string().min(1)).optional(),
  cwd: z.string().refine(isAbsolute, { error: "expected an absolute path" }).optional(),
  permissions: z.enum(["ask", "deny"]).optional(),
  allow: z.array(z.enum(KINDS)).optional(),
});

export interface AgentSources {
  /** The setting `agents`. */
  readonly entries: Readonly<Record<string, unknown>> | undefined;
  readonly environment: Environment;
  /** The working directory of agents without their own. */
  readonly folder: string;
}

/** Returns the agents of the settings, and the known ones that are installed. */
export function createAgentTable({ entries = {}, environment, folder }: AgentSources): AgentTable {
  const table = new Map<string, AgentSettings | ExcursorError>();
  for (const [name, entry] of Object.entries(entries)) table.set(name, readAgent(name, entry, environment, folder));
  for (const [name, { command, installHint }] of Object.entries(KNOWN_AGENTS)) {
    if (table.has(name)) continue;
    const isThere = isInstalled(command, environment["PATH"] ?? "");
    table.set(name, isThere ? readAgent(name, {}, environment, folder) : notInstalled(name, command, installHint));
  }
  return table;
}

function readAgent(
  name: string,
  entry: unknown,
  environment: Environment,
  folder: string,
): AgentSettings | ExcursorError {
  if (!NAME.test(name)) return unusable(name, "", "expected a name of at most 64 letters, digits and . _ -");
  const { data, error } = entrySchema.safeParse(entry);
  if (error) {
    const { path = [], message = "" } = error.issues[0] ?? {};
    return unusable(name, path.map((key) => `${String(key)}: `).join(""), message);
  }
  const known = Object.hasOwn(KNOWN_AGENTS, name) ? KNOWN_AGENTS[name] : undefined;
  const command = data.command ?? known?.command;
  if (command === undefined) return unusable(name, "command: ", "expected the program to run");
  const { asking, toolRules } = known ?? knownProgram(command) ?? {};
  const others = data.permissions ?? "ask";
  const isFree = data.allow?.includes("*") === true;
  const rules = toolRules && !isFree ? { [toolRules.variable]: rulesFor(toolRules, data.allow, others) } : {};
  const passed = (data.passEnv ?? []).map((variable) => [variable, environment[variable]] as const);
  const missing = passed.find(([, value]) => value === undefined);
  if (missing) return unusable(name, "passEnv: ", `the variable ${missing[0]} is not set`);
  return {
    name,
    displayName: data.displayName ?? known?.displayName ?? `${name} (ACP)`,
    command,
    // The known arguments belong to the known program.
    args: data.args ?? (data.command === undefined ? known?.args : undefined) ?? [],
    environment: Object.fromEntries(
      [...Object.entries(rules), ...passed, ...Object.entries(data.env ?? {})].map(([variable, value]) => [
        variable,
        new Secret(value ?? ""),
      ]),
    ),
    folder: data.cwd ?? folder,
    permissions: { allow: data.allow ?? [], others },
    asking: isFree ? undefined : asking,
    installHint: known?.installHint,
  };
}

/** Finds a known agent by its program, under any configured name. */
const knownProgram = (command: string): KnownAgent | undefined =>
  Object.values(KNOWN_AGENTS).find((known) => known.command === basename(command).replace(/\.(?:exe|cmd)$/i, ""));

/** Returns rules for the tools that are not allowed. The user's own rules for the others stay in effect. */
function rulesFor({ tools }: ToolRules, allow: readonly string[] = QUIET_KINDS, others: "ask" | "deny"): string {
  const bound = Object.entries(tools).flatMap(([kind, names]) => (allow.includes(kind) ? [] : names));
  return JSON.stringify(Object.fromEntries(bound.map((name) => [name, others])));
}

/** Returns whether we can enforce an agent's permissions. Otherwise they apply only if the agent asks. */
export function hasSwitch(name: string, { command }: AgentSettings): boolean {
  const known = (Object.hasOwn(KNOWN_AGENTS, name) ? KNOWN_AGENTS[name] : undefined) ?? knownProgram(command);
  return known?.asking !== undefined || known?.toolRules !== undefined;
}

function isInstalled(command: string, path: string): boolean {
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return path.split(delimiter).some((folder) =>
    endings.some((ending) => {
      try {
        accessSync(join(folder, command + ending), constants.X_OK);
        return folder !== "";
      } catch {
        return false;
      }
    }),
  );
}

const unusable = (name: string, field: string, why: string): ExcursorError =>
  new ExcursorError("bad_config", `agents → ${name.slice(0, 64)}: ${field}${why}.`);

/** The code of the error for a known agent whose program is not there. */
export const NOT_INSTALLED = "agent_no_command";

const notInstalled = (name: string, command: string, hint: string): ExcursorError =>
  new ExcursorError(NOT_INSTALLED, `The agent "${name}" is not installed: the program "${command}" was not found.`, {
    hint,
  });
