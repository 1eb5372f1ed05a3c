import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Other people's clients, to be run as they are against the simulated backend. Not dependencies: nothing here needs them. */
const CLIENTS: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "2.1.325",
  "@cursor/sdk": "1.0.32",
};

export const CLIENTS_FOLDER = fileURLToPath(new URL("../.clients", import.meta.url));

/** Installs what is missing, in a folder of its own. */
export function installClients(): void {
  const missing = Object.entries(CLIENTS).filter(([name, version]) => installedVersion(name) !== version);
  if (missing.length === 0) return;
  const wanted = missing.map(([name, version]) => `${name}@${version}`);
  console.error(`Installing ${wanted.join(", ")} into .clients.`);
  mkdirSync(CLIENTS_FOLDER, { recursive: true });
  const manifest = `${CLIENTS_FOLDER}/package.json`;
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const flags = ["--prefix", CLIENTS_FOLDER, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, error } = spawnSync("npm", ["install", ...flags, ...wanted], { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`npm install failed: ${error?.message ?? `exit code ${status}`}.`);
}

function installedVersion(name: string): string | undefined {
  const manifest = `${CLIENTS_FOLDER}/node_modules/${name}/package.json`;
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

if (import.meta.main) installClients();
