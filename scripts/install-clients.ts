import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Packages = Readonly<Record<string, { readonly version: string; readonly setUp?: string }>>;

/**
 * Third-party clients, which the tests run against the gateway or the simulator. They are no dependencies of ours. Only
 * the install scripts named here are run; they put a binary in place.
 */
const CLIENTS: Packages = {
  // Published for this platform only.
  ...(process.platform === "linux" &&
    process.arch === "x64" && { "@aaif/goose-binary-linux-x64": { version: "1.52.0" } }),
  "@agentclientprotocol/claude-agent-acp": { version: "0.99.0" },
  "@anthropic-ai/claude-code": { version: "2.1.325" },
  "@continuedev/cli": { version: "1.5.47" },
  "@cursor/sdk": { version: "1.0.32" },
  "@github/copilot": { version: "1.0.102" },
  "@google/gemini-cli": { version: "0.61.0" },
  "@langchain/core": { version: "1.2.13" },
  "@langchain/ollama": { version: "1.3.0" },
  "@langchain/openai": { version: "1.6.0" },
  "@modelcontextprotocol/server-everything": { version: "2026.8.31" },
  "@openai/agents": { version: "0.20.0" },
  "@openai/codex": { version: "0.166.0" },
  "@qwen-code/qwen-code": { version: "0.24.4" },
  langchain: { version: "1.5.14" },
  openai: { version: "7.53.0" },
  "opencode-ai": { version: "1.18.33", setUp: "postinstall.mjs" },
  zod: { version: "4.6.7" },
};

/** Third-party MCP servers for tests of the hub, and the conformance suite for MCP clients. */
const MCP_SERVERS: Packages = {
  "@modelcontextprotocol/conformance": { version: "0.2.0-alpha.12" },
  "@modelcontextprotocol/server-everything": { version: "2026.8.31" },
  "@modelcontextprotocol/server-filesystem": { version: "2026.8.31" },
  "@modelcontextprotocol/server-memory": { version: "2026.8.31" },
};

/** What `npm run mutants` needs. */
const MUTATION_TESTER: Packages = {
  "@stryker-mutator/core": { version: "10.1.1" },
  "@stryker-mutator/vitest-runner": { version: "10.1.1" },
};

export const CLIENTS_FOLDER = fileURLToPath(new URL("../.clients", import.meta.url));

export const installClients = (): void => install(CLIENTS);
export const installMcpServers = (): void => install(MCP_SERVERS);
export const installMutationTester = (): void => install(MUTATION_TESTER);

/** Installs missing packages into .clients. */
function install(packages: Packages): void {
  const missing = Object.entries(packages).filter(([name, { version }]) => installedVersion(name) !== version);
  if (missing.length === 0) return;
  const wanted = missing.map(([name, { version }]) => `${name}@${version}`);
  console.error(`Installing ${wanted.join(", ")} into .clients.`);
  mkdirSync(CLIENTS_FOLDER, { recursive: true });
  const manifest = `${CLIENTS_FOLDER}/package.json`;
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const flags = ["--prefix", CLIENTS_FOLDER, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"];
  run("npm", ["install", ...flags, ...wanted]);
  // npm may have reinstalled packages that were there.
  for (const [name, { setUp }] of Object.entries(packages)) {
    if (setUp !== undefined) run(process.execPath, [`${CLIENTS_FOLDER}/node_modules/${name}/${setUp}`]);
  }
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? `exit code ${status}`}.`);
}

function installedVersion(name: string): string | undefined {
  const manifest = `${CLIENTS_FOLDER}/node_modules/${name}/package.json`;
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

if (import.meta.main) installClients();
