import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * A real VS Code workbench with its server, and a browser driver. They are no dependencies of ours: only the IDE proof
 * needs them.
 */
const PACKAGES = ["code-server@4.139.1", "playwright-core@1.65.0"];
const FOLDER = fileURLToPath(new URL("../.clients/workbench", import.meta.url));

export const WORKBENCH_MODULES = `${FOLDER}/node_modules`;
const SERVER = `${WORKBENCH_MODULES}/code-server/lib/vscode`;

/** Installs missing packages into their own folder, without running install scripts. */
export function installWorkbench(): void {
  if (existsSync(`${SERVER}/node_modules`)) return;
  console.error(`Installing ${PACKAGES.join(", ")} into .clients/workbench.`);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/package.json`, '{ "private": true }\n');
  const flags = ["install", "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"];
  npm(FOLDER, [...flags, ...PACKAGES]);
  npm(SERVER, flags);
}

function npm(folder: string, args: readonly string[]): void {
  const { status, error } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`npm install failed: ${error?.message ?? `exit code ${status}`}.`);
}

export function findChromium(): string {
  const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = [process.env["CHROMIUM"] ?? "", ...places].find((path) => path !== "" && existsSync(path));
  if (found === undefined) throw new Error("No Chromium was found. Install one (Debian: chromium), or set CHROMIUM.");
  return found;
}

if (import.meta.main) installWorkbench();
