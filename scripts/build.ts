import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

// Builds the package into dist. The code is bundled into few files, which start faster than hundreds (bench/README.md).
// Dependencies stay outside, so that users get their fixes.
process.chdir(fileURLToPath(new URL("../", import.meta.url)));

/**
 * The files that are loaded by name: by the command, by other programs, as a worker, and the schema by `drift`. Code that
 * is two levels below the package's root in the sources is so in the build: some finds files of the package by that.
 */
const ENTRIES: Readonly<Record<string, string>> = {
  "js/main": "src/main.ts",
  "js/schema-worker": "src/schema/schema-worker.ts",
  "api/gateway": "src/api/gateway.ts",
  "api/simulator": "src/api/simulator.ts",
  "opencode/plugin": "src/opencode/plugin.ts",
};

mkdirSync("dist", { recursive: true });
// The page of the dashboard is built by scripts/build-ui.ts.
for (const name of readdirSync("dist")) if (name !== "ui") rmSync(join("dist", name), { recursive: true });

const bundle = await rolldown({
  input: { ...ENTRIES, ...schemaEntries() },
  platform: "node",
  external: (id) => !/^[./]/.test(id) && !(id in ENTRIES),
});
await bundle.write({
  dir: "dist",
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "js/[name]-[hash].js",
});
emitDeclarations(["api/gateway.d.ts", "api/simulator.d.ts", "opencode/plugin.d.ts"]);

function schemaEntries(): Record<string, string> {
  const files = readdirSync("src/gen", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("_pb.ts"));
  return Object.fromEntries(files.map((file) => [`gen/${file.slice(0, -3)}`, join("src/gen", file)]));
}

/** Emits the declarations of these files, and of the files that those import. */
function emitDeclarations(files: readonly string[]): void {
  const all = mkdtempSync("dist/declarations-");
  try {
    const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json", "--outDir", all], { stdio: "inherit" });
    if (status !== 0) throw new Error("tsc failed");
    const needed = new Set(files.map((file) => resolve(all, file)));
    for (const file of needed) {
      const imports = readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)\.[jt]s"/g);
      for (const [, path = ""] of imports) needed.add(resolve(dirname(file), `${path}.d.ts`));
      const target = join("dist", file.slice(resolve(all).length));
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(file, target);
    }
  } finally {
    rmSync(all, { recursive: true });
  }
}
