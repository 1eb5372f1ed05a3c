import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { type AgentBridge, type AgentEntry, installed, said, setUpAgentBridge } from "./support/agent-bridge.ts";
import { startGeminiApi } from "./support/gemini-api.ts";

/** They are large programs, and start more than once in a test. */
const SLOW_MS = 180_000;

const claude = () =>
  setUpAgentBridge((url, { home }) => ({
    command: process.execPath,
    args: [installed("claude-agent-acp")],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_MODEL: "claude-sonnet-5",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "gpt-5.4-mini",
      CLAUDE_CONFIG_DIR: join(home, "claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }));

const openCode = (permission: object = { edit: "ask", bash: "ask" }, more: Partial<AgentEntry> = {}) =>
  setUpAgentBridge((url, { folder }) => {
    const settings = {
      model: "excursor/composer-2.5",
      small_model: "excursor/composer-2.5",
      share: "disabled",
      autoupdate: false,
      permission,
      provider: {
        excursor: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${url}/v1`, apiKey: KEY },
          models: { "composer-2.5": { tool_call: true, reasoning: true, limit: { context: 200_000, output: 8192 } } },
        },
      },
    };
    writeFileSync(join(folder, "opencode.json"), JSON.stringify(settings));
    return {
      command: installed("opencode"),
      args: ["acp"],
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
      ...more,
    };
  });

const AGENTS: Readonly<Record<string, readonly [() => Promise<AgentBridge>, (path: string) => string]>> = {
  "Claude Code": [claude, (path) => `need Write ;; call Write ${JSON.stringify({ file_path: path, content: "made" })}`],
  OpenCode: [
    () => openCode(),
    (path) => `need write ;; call write ${JSON.stringify({ filePath: path, content: "made" })}`,
  ],
};

/** The full circle: our bridge → an agent of somebody else's → our gateway → the simulated backend. */
describe.each(Object.entries(AGENTS))("%s behind the bridge, with our gateway as its model", (_, [setUp, write]) => {
  it(
    "thinks, answers, and goes on in its own session",
    async () => {
      const { ask } = await setUp();
      const first = await ask("@sim think let me see ;; say hello from the circle");
      expect(said(first, "text")).toContain("hello from the circle");
      expect(said(first, "thought")).toContain("let me see");
      expect(first.at(-1)).toMatchObject({ type: "done", stopReason: "end_turn" });
      const second = await ask("@sim say {{history}}");
      expect(said(second, "text")).toContain("hello from the circle");
      expect(said(second, "text")).not.toContain("conversation-so-far");
    },
    SLOW_MS,
  );

  it(
    "writes a file with leave, and does not without",
    async () => {
      const { ask, desk } = await setUp();
      const file = join(desk.folder, "made.txt");
      const refused = await ask(`@sim ${write(file)} ;; say refused`, "reject_once");
      expect(refused.some(({ type }) => type === "permission")).toBe(true);
      expect(existsSync(file)).toBe(false);
      const allowed = await ask(`@sim ${write(file)} ;; say allowed`, "allow_once");
      expect(said(allowed, "text")).toContain("allowed");
      expect(allowed.some(({ type }) => type === "tool")).toBe(true);
      expect(readFileSync(file, "utf8")).toBe("made");
    },
    SLOW_MS,
  );
});

describe("OpenCode, which asks nothing by itself", () => {
  it(
    "is held to `allow` by its own switch, whatever its own settings say",
    async () => {
      const { ask, desk } = await openCode(
        { "*": "allow", edit: "allow", bash: "allow" },
        { name: "opencode", allow: ["read"] },
      );
      writeFileSync(join(desk.folder, "notes.txt"), "nothing much");
      const file = join(desk.folder, "made.txt");
      const reading = JSON.stringify({ filePath: join(desk.folder, "notes.txt") });
      const read = await ask(`@sim need read ;; call read ${reading} ;; say done`);
      expect(read.some(({ type }) => type === "permission")).toBe(false);
      expect(read.filter(({ type }) => type === "tool").at(-1)).toMatchObject({ status: "completed" });
      const writing = JSON.stringify({ filePath: file, content: "made" });
      const written = await ask(`@sim need write ;; call write ${writing} ;; say done`);
      expect(written.some(({ type }) => type === "permission")).toBe(true);
      const running = JSON.stringify({ command: `touch ${file}`, description: "makes it" });
      const run = await ask(`@sim need bash ;; call bash ${running} ;; say done`);
      expect(run.some(({ type }) => type === "permission")).toBe(true);
      expect(existsSync(file)).toBe(false);
    },
    SLOW_MS,
  );
});

describe("Gemini CLI behind the bridge, with a stand-in for its API", () => {
  it(
    "thinks, answers, and goes on in its own session",
    async () => {
      const api = await startGeminiApi("let me see", "hello from gemini");
      onTestFinished(() => api.close());
      const { ask } = await setUpAgentBridge((_, { home }) => {
        const settings = {
          security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        };
        mkdirSync(join(home, ".gemini"));
        writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
        return {
          command: process.execPath,
          // By name: else it would ask a model first which one to take.
          args: [installed("gemini"), "--acp", "--model", "gemini-2.5-pro"],
          env: { GEMINI_API_KEY: "a-key-for-tests", GOOGLE_GEMINI_BASE_URL: api.url, GEMINI_CLI_NO_RELAUNCH: "true" },
        };
      });
      const lines = await ask("say hello");
      expect(said(lines, "text")).toContain("hello from gemini");
      expect(said(lines, "thought")).toContain("let me see");
      await ask("and again");
      expect(api.requests.at(-1)).toContain("say hello");
      expect(api.requests.at(-1)).not.toContain("conversation-so-far");
    },
    SLOW_MS,
  );
});
