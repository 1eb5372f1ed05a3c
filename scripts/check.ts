import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { findWrongImports } from "./import-direction.ts";
import { findUndefinedIds } from "./requirement-ids.ts";

/** All checks that need not run the product. Each returns an empty string, or what is wrong. */
const CHECKS: Readonly<Record<string, () => string>> = {
  "schema is clean": () => run("buf", "lint"),
  "generated code is current": () => generatedCodeDrift() || run("node", "scripts/generate-injected.ts", "--check"),
  "generated pages are current": () =>
    run("node", "scripts/generate-docs.ts", "--check") +
    run("node", "scripts/generate-troubleshooting.ts", "--check") +
    run("node", "scripts/generate-licences.ts", "--check"),
  "types hold": () => run("tsc", "-p", ".") + run("tsc", "-p", "ui") + run("tsc", "-p", "test"),
  "format and lint": () => run("biome", "check", "--error-on-warnings", "."),
  "nothing is dead": () => run("knip", "--no-progress"),
  "expressions are linear": () => run("node", "scripts/patterns.ts"),
  "imports point one way": () => findWrongImports("src").join("\n"),
  "cited requirements are defined": () => findUndefinedIds().join("\n"),
  "counts are within budget": () => run("node", "scripts/budget.ts", "--check"),
};

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (error) return `${command}: ${error.message}. Has \`npm ci\` been run?`;
  return status === 0 ? "" : `${stdout}${stderr}`;
}

function generatedCodeDrift(): string {
  const fresh = mkdtempSync(join(tmpdir(), "excursor-gen-"));
  try {
    const problem = run("buf", "generate", "--output", fresh);
    if (problem !== "") return problem;
    const [made, kept] = [join(fresh, "src/gen"), "src/gen"].map(readTree);
    const names = new Set([...(made?.keys() ?? []), ...(kept?.keys() ?? [])]);
    const stale = [...names].filter((name) => made?.get(name) !== kept?.get(name));
    return stale.length === 0 ? "" : `Run \`npm run generate\` and commit; these differ:\n${stale.join("\n")}`;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function readTree(root: string): ReadonlyMap<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(root.length), readFileSync(path, "utf8")];
    }),
  );
}

let failures = 0;
for (const [name, check] of Object.entries(CHECKS)) {
  const problem = check();
  const mark = problem === "" ? styleText("green", "ok") : styleText("red", "no");
  process.stdout.write(`${mark}  ${name}\n`);
  if (problem === "") continue;
  failures++;
  process.stdout.write(`${problem.trimEnd()}\n`);
}
process.exitCode = failures === 0 ? 0 : 1;
