import type { TestOptions } from "vitest";

/** What a client may use of the gateway, with its heading in the matrix. */
export const FEATURES = {
  whole: "whole answer",
  stream: "stream",
  tools: "tools",
  parallel: "parallel tools",
  rounds: "rounds of tools",
  images: "images",
  thinking: "thinking",
  structured: "structured output",
  usage: "usage",
  abort: "abort",
  errors: "errors",
} as const;

export const DIALECTS = {
  chat: "Chat Completions",
  responses: "Responses",
  websocket: "Responses over WebSocket",
  messages: "Anthropic Messages",
  gemini: "Gemini",
  ollama: "Ollama",
} as const;

export type Feature = keyof typeof FEATURES;
export type Dialect = keyof typeof DIALECTS;

interface MatrixClient {
  readonly title: string;
  /** The npm package whose version is tested. Absent: not run; its format is from its documentation. */
  readonly package?: string;
  readonly dialects: readonly Dialect[];
  /** What the client itself does not do. */
  readonly lacks?: readonly Feature[];
}

/** The rows of the matrix, in its order. */
export const CLIENTS = {
  "claude-code": {
    title: "Claude Code",
    package: "@anthropic-ai/claude-code",
    dialects: ["messages"],
    lacks: ["whole"],
  },
  codex: { title: "Codex", package: "@openai/codex", dialects: ["responses", "websocket"], lacks: ["whole"] },
  opencode: { title: "OpenCode", package: "opencode-ai", dialects: ["chat", "responses"], lacks: ["whole"] },
  "qwen-code": {
    title: "Qwen Code",
    package: "@qwen-code/qwen-code",
    dialects: ["chat", "responses", "messages"],
  },
  "copilot-cli": {
    title: "GitHub Copilot CLI",
    package: "@github/copilot",
    dialects: ["chat", "responses", "websocket"],
  },
  "gemini-cli": { title: "Gemini CLI", package: "@google/gemini-cli", dialects: ["gemini"] },
  goose: { title: "Goose", package: "@aaif/goose-binary-linux-x64", dialects: ["chat", "responses"] },
  continue: { title: "Continue CLI", package: "@continuedev/cli", dialects: ["chat", "messages"] },
  "openai-sdk": { title: "OpenAI SDK", package: "openai", dialects: ["chat", "responses"] },
  "anthropic-sdk": { title: "Anthropic SDK", package: "@anthropic-ai/sdk", dialects: ["messages"] },
  "google-sdk": { title: "Google Gen AI SDK", package: "@google/genai", dialects: ["gemini"] },
  "ollama-sdk": { title: "Ollama SDK", package: "ollama", dialects: ["ollama"] },
  "ai-sdk": { title: "AI SDK", package: "ai", dialects: ["chat", "responses", "messages", "gemini"] },
  langchain: { title: "LangChain", package: "langchain", dialects: ["chat", "responses", "ollama"] },
  "openai-agents": { title: "OpenAI Agents", package: "@openai/agents", dialects: ["chat", "responses"] },
  vscode: { title: "VS Code", dialects: ["chat"] },
  crush: { title: "Crush", dialects: ["chat"] },
  "open-webui": { title: "Open WebUI", dialects: ["chat"] },
  zed: { title: "Zed", dialects: ["chat"] },
  aider: { title: "Aider", dialects: ["chat"] },
} as const satisfies Readonly<Record<string, MatrixClient>>;

export type ClientId = keyof typeof CLIENTS;

/** A claim of one test: this client can use these features in this dialect. */
export interface Proof {
  readonly client: ClientId;
  readonly dialect: Dialect;
  readonly features: readonly Feature[];
}

declare module "vitest" {
  interface TaskMeta {
    proofs?: readonly Proof[];
  }
}

/** The options of a test that proves what a client can do. The matrix in docs/clients is made of these. */
export const proves = (
  clients: ClientId | readonly ClientId[],
  dialect: Dialect,
  ...features: Feature[]
): TestOptions => ({ meta: { proofs: [clients].flat().map((client) => ({ client, dialect, features })) } });
