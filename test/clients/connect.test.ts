import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { excursor } from "../cli/support/excursor.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { type ClientId, type Dialect, proves } from "./matrix/proof.ts";

const bin = (path: string) => `${CLIENTS_FOLDER}/node_modules/${path}`;
const { platform, arch } = process;

interface ConnectedCli {
  readonly id: ClientId;
  readonly dialect: Dialect;
  readonly command: readonly string[];
  readonly file: string;
  readonly before: string;
  readonly chosen?: readonly [string, string];
}

/** How each is asked without its terminal, and a configuration that its user has already. */
const CLIENTS: readonly ConnectedCli[] = [
  {
    id: "claude-code",
    dialect: "messages",
    command: [bin(`@anthropic-ai/claude-code-${platform}-${arch}/claude`), "-p"],
    file: ".claude/settings.json",
    before: '{"cleanupPeriodDays": 7}',
  },
  {
    id: "codex",
    dialect: "responses",
    command: [process.execPath, bin("@openai/codex/bin/codex.js"), "exec", "--skip-git-repo-check"],
    file: ".codex/config.toml",
    before: '# mine\nmodel = "o3"\nsandbox_mode = "read-only"\n\n[analytics]\nenabled = false\n',
  },
  {
    id: "opencode",
    dialect: "chat",
    command: [bin("opencode-ai/bin/opencode.exe"), "run", "--pure", "--title", "t"],
    file: ".config/opencode/opencode.json",
    before: '{\n  // mine\n  "autoupdate": false,\n  "share": "disabled",\n}\n',
  },
  {
    id: "gemini-cli",
    dialect: "gemini",
    command: [process.execPath, bin("@google/gemini-cli/bundle/gemini.js"), "--yolo", "-p"],
    file: ".gemini/.env",
    before: "MINE=1\n",
    // The choice that it asks for at its first start.
    chosen: [".gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'],
  },
  {
    id: "qwen-code",
    dialect: "chat",
    command: [process.execPath, bin("@qwen-code/qwen-code/cli.js"), "--yolo", "-p"],
    file: ".qwen/settings.json",
    before: '{\n  "$version": 4,\n  "general": {\n    "enableAutoUpdate": false\n  }\n}',
  },
  {
    id: "continue",
    dialect: "chat",
    command: [process.execPath, bin("@continuedev/cli/dist/cn.js"), "-p"],
    file: ".continue/config.yaml",
    before: "name: mine\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: Local\n    provider: ollama\n    model: x\n",
  },
];

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-user-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

async function ask([program = "", ...args]: readonly string[], prompt: string): Promise<string> {
  const folder = join(home, "work");
  mkdirSync(folder, { recursive: true });
  const child = spawn(program, [...args, prompt], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      CONTINUE_TELEMETRY_ENABLED: "0",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      // Gemini CLI reads its .env file in trusted folders only.
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => {
      output += chunk;
    });
  }
  await once(child, "close");
  return output;
}

describe.each(CLIENTS)("$id", ({ id, dialect, command, file, before, chosen }) => {
  it("connected by its recipe, gets its answers from the gateway", proves(id, dialect, "stream"), async () => {
    const { start, trace } = await setUpGateway();
    const { url } = await start();
    const path = join(home, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, before);
    if (chosen) writeFileSync(join(home, chosen[0]), chosen[1]);
    const environment = { EXCURSOR_HOME: join(home, "excursor"), EXCURSOR_KEY: KEY, HOME: home };
    const connected = await excursor(["connect", id, "--url", url, "-m", "gpt-5.5"], { environment }).exited;
    expect(connected.code, connected.stderr).toBe(0);
    trace.length = 0;
    expect(await ask(command, "@sim say the gateway has answered {{model}}")).toMatch(
      /the gateway has answered gpt-5\.5/,
    );
    expect(trace.some(({ kind }) => kind === "run_request")).toBe(true);
    const disconnected = await excursor(["disconnect"], { environment }).exited;
    expect(disconnected.code, disconnected.stderr).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(existsSync(`${path}.before-disconnect`)).toBe(false);
  });
});
