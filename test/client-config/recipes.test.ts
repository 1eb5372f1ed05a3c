import { parse as parseJson } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Machine, OfferedGateway, OfferedModel } from "../../src/client-config/client-recipe.ts";
import { cursor } from "../../src/client-config/recipes/cursor.ts";
import { RECIPES } from "../../src/client-config/recipes/index.ts";
import { Secret } from "../../src/core/secret.ts";

const gateway: OfferedGateway = {
  url: "http://127.0.0.1:8787",
  key: new Secret("the-key"),
  model: "auto",
  models: [
    { id: "auto", name: "Auto", aliases: [], window: 200_000, isThinking: false, supportsImages: true },
    { id: "claude-opus-4-8", name: "Opus", aliases: [], window: 300_000, isThinking: true, supportsImages: false },
  ],
};

const machine = (over: Partial<Machine> = {}): Machine => ({
  home: "/h",
  platform: "linux",
  environment: {},
  exists: () => false,
  ...over,
});

const recipe = (id: string) => {
  const found = RECIPES.find((one) => one.id === id);
  if (!found) throw new Error(`no recipe ${id}`);
  return found;
};

describe("where the configuration is", () => {
  it.each<[string, Partial<Machine>, string]>([
    ["claude-code", {}, "/h/.claude/settings.json"],
    ["claude-code", { environment: { CLAUDE_CONFIG_DIR: "/c" } }, "/c/settings.json"],
    ["opencode", {}, "/h/.config/opencode/opencode.json"],
    ["opencode", { environment: { XDG_CONFIG_HOME: "/x" } }, "/x/opencode/opencode.json"],
    ["opencode", { exists: (path) => path.endsWith(".jsonc") }, "/h/.config/opencode/opencode.jsonc"],
    ["codex", {}, "/h/.codex/config.toml"],
    ["codex", { environment: { CODEX_HOME: "/c" } }, "/c/config.toml"],
    ["continue", {}, "/h/.continue/config.yaml"],
    ["zed", {}, "/h/.config/zed/settings.json"],
    ["zed", { platform: "darwin", environment: { XDG_CONFIG_HOME: "/x" } }, "/h/.config/zed/settings.json"],
    ["aider", {}, "/h/.aider.conf.yml"],
    ["vscode", {}, "/h/.config/Code/User/chatLanguageModels.json"],
    ["vscode", { platform: "darwin" }, "/h/Library/Application Support/Code/User/chatLanguageModels.json"],
    ["gemini-cli", {}, "/h/.gemini/.env"],
    ["gemini-cli", { environment: { GEMINI_CLI_HOME: "/g" } }, "/g/.gemini/.env"],
    ["qwen-code", {}, "/h/.qwen/settings.json"],
    ["goose", {}, "/h/.config/goose/config.yaml"],
    ["crush", { environment: { XDG_CONFIG_HOME: "/x" } }, "/x/crush/crush.json"],
    ["open-webui", {}, "/h/open-webui.env"],
    ["cursor-private", {}, "/h/cursor-private.env"],
  ])("%s, %j", (id, over, path) => {
    expect(recipe(id).file(machine(over))).toBe(path);
  });
});

describe("what stands in it", () => {
  it("Claude Code", () => {
    const edited = recipe("claude-code").edit('{"env":{"MINE":"1"},"theme":"dark"}', gateway);
    expect(parseJson(edited)).toMatchObject({
      theme: "dark",
      env: {
        MINE: "1",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:8787",
        ANTHROPIC_AUTH_TOKEN: "the-key",
        ANTHROPIC_MODEL: "auto",
        ANTHROPIC_DEFAULT_OPUS_MODEL: "claude-opus-4-8",
        ANTHROPIC_DEFAULT_HAIKU_MODEL: "auto",
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: "200000",
      },
    });
  });

  it("OpenCode, with a model that is in no list", () => {
    const edited = recipe("opencode").edit("", { ...gateway, model: "opus-high" });
    const { provider, model } = parseJson(edited);
    expect(model).toBe("excursor/opus-high");
    expect(provider.excursor.options).toEqual({ baseURL: "http://127.0.0.1:8787/v1", apiKey: "the-key" });
    expect(Object.keys(provider.excursor.models)).toEqual(["opus-high", "auto", "claude-opus-4-8"]);
    expect(provider.excursor.models["claude-opus-4-8"]).toMatchObject({ reasoning: true, limit: { context: 300_000 } });
  });

  it("Codex", () => {
    expect(recipe("codex").edit('approval_policy = "never"\n', gateway)).toBe(
      [
        'model = "auto"',
        'model_provider = "excursor"',
        "model_context_window = 200000",
        'approval_policy = "never"',
        "",
        "[model_providers.excursor]",
        'name = "Excursor"',
        'base_url = "http://127.0.0.1:8787/v1"',
        'wire_api = "responses"',
        "supports_websockets = true",
        'experimental_bearer_token = "the-key"',
        "",
      ].join("\n"),
    );
  });

  it("VS Code: one entry of a list, and never twice", () => {
    const theirs = '[\n  // keep\n  { "name": "Theirs", "vendor": "ollama" }\n]\n';
    const once = recipe("vscode").edit(theirs, gateway);
    expect(once).toContain("// keep");
    const list = parseJson(recipe("vscode").edit(once, gateway));
    expect(list).toMatchObject([
      { name: "Theirs" },
      { name: "Excursor", vendor: "customendpoint", models: [{ id: "auto" }, { vision: false }] },
    ]);
    expect(once).not.toContain("the-key");
    expect(list[1].models[0]).toEqual({
      id: "auto",
      name: "Auto",
      url: "http://127.0.0.1:8787/v1/chat/completions",
      apiType: "chat-completions",
      toolCalling: true,
      vision: true,
      thinking: false,
      streaming: true,
      maxInputTokens: 168_000,
      maxOutputTokens: 32_000,
    });
    expect(() => recipe("vscode").edit("{}", gateway)).toThrow(/list/);
  });

  it("Gemini CLI", () => {
    expect(recipe("gemini-cli").edit("MINE=1\nGEMINI_API_KEY=old\n", gateway)).toBe(
      "MINE=1\nGEMINI_API_KEY=the-key\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787\nGEMINI_MODEL=auto\n",
    );
  });

  it("Qwen Code, Goose, Crush", () => {
    expect(parseJson(recipe("qwen-code").edit('{"ui":{"theme":"x"}}', gateway))).toEqual({
      ui: { theme: "x" },
      security: { auth: { selectedType: "openai", apiKey: "the-key", baseUrl: "http://127.0.0.1:8787/v1" } },
      model: { name: "auto" },
    });
    expect(parseYaml(recipe("goose").edit("GOOSE_MODE: auto\n", gateway))).toEqual({
      GOOSE_MODE: "auto",
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "auto",
      OPENAI_HOST: "http://127.0.0.1:8787",
      OPENAI_BASE_PATH: "v1/chat/completions",
    });
    const { providers, models } = parseJson(recipe("crush").edit("", gateway));
    expect(models.large).toEqual({ provider: "excursor", model: "auto" });
    expect(providers.excursor).toMatchObject({ type: "openai-compat", base_url: "http://127.0.0.1:8787/v1" });
    expect(providers.excursor.models[1]).toMatchObject({ id: "claude-opus-4-8", can_reason: true });
  });

  it("Open WebUI: variables, each once", () => {
    const theirs = "# mine\nWEBUI_AUTH=False\nexport OPENAI_API_KEY=old\n";
    const once = recipe("open-webui").edit(theirs, gateway);
    expect(once).toBe(
      "# mine\nWEBUI_AUTH=False\nOPENAI_API_KEY=the-key\nENABLE_OPENAI_API=true\nOPENAI_API_BASE_URL=http://127.0.0.1:8787/v1\nDEFAULT_MODELS=auto\n",
    );
    expect(recipe("open-webui").edit(once, gateway)).toBe(once);
  });

  it("Cursor Private Inference: the base URL with /v1, and the key", () => {
    expect(recipe("cursor-private").edit("CURSOR_LOCAL_AGENT_HEADERS=x: y\n", gateway)).toBe(
      "CURSOR_LOCAL_AGENT_HEADERS=x: y\nCURSOR_LOCAL_AGENT_BASE_URL=http://127.0.0.1:8787/v1\nCURSOR_LOCAL_AGENT_API_KEY=the-key\n",
    );
  });

  it("Continue: ours first, theirs after it, and never twice", () => {
    const theirs = "name: mine\nmodels:\n  - name: Theirs # keep\n    provider: ollama\n";
    const once = recipe("continue").edit(theirs, gateway);
    expect(once).toContain("# keep");
    expect(parseYaml(recipe("continue").edit(once, gateway))).toMatchObject({
      name: "mine",
      schema: "v1",
      models: [
        { name: "Excursor", apiBase: "http://127.0.0.1:8787/v1", apiKey: "the-key", model: "auto" },
        { name: "Theirs" },
      ],
    });
    expect(() => recipe("continue").edit("models: none\n", gateway)).toThrow(/not a list/);
  });

  it("Zed, which keeps no key in a file", () => {
    const edited = recipe("zed").edit("// Zed settings\n{\n}\n", gateway);
    expect(edited).not.toContain("the-key");
    expect(parseJson(edited)).toMatchObject({
      language_models: { openai_compatible: { Excursor: { api_url: "http://127.0.0.1:8787/v1" } } },
      agent: { default_model: { provider: "Excursor", model: "auto" } },
    });
  });

  it("Cursor: names that it leaves alone, those that are there before new ones", () => {
    const model = (id: string, ...aliases: string[]) =>
      ({ ...gateway.models[0], id, name: id, aliases }) as OfferedModel;
    const models = [
      model("claude-opus-4-8", "claude-opus", "opus"),
      model("claude-sonnet-5"),
      model("gpt-5.5", "haiku"),
      model("local/claude-haiku"),
      model("claude-haiku"),
    ];
    const steps = cursor.steps({
      ...gateway,
      models,
      tunnel: undefined,
      pathSecret: "s",
      missing: {},
      writtenTo: undefined,
    });
    expect(steps.find((step) => step.includes("Add model"))).toContain(
      "opus, sonnet-5, gpt-5.5, local/haiku, my-haiku",
    );
    const added = steps
      .find((step) => step.includes("need other names"))
      ?.split("\n")
      .slice(1);
    expect(JSON.parse(`{${added?.join("")}}`)).toEqual({
      "sonnet-5": "claude-sonnet-5",
      "local/haiku": "local/claude-haiku",
      "my-haiku": "claude-haiku",
    });
  });

  it("Aider", () => {
    expect(parseYaml(recipe("aider").edit("dark-mode: true\n", gateway))).toMatchObject({
      "dark-mode": true,
      model: "openai/auto",
      "openai-api-base": "http://127.0.0.1:8787/v1",
      "openai-api-key": "the-key",
    });
  });
});
