import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const folder = fileURLToPath(new URL("../src/ide/", import.meta.url));
const target = `${folder}patch/injected-source.ts`;

/** Bundles the code that runs inside the IDE into one expression, as a string. So Excursor itself needs no bundler. */
async function makeInjectedSource(): Promise<string> {
  const made = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      target: "es2022",
      lib: { entry: `${folder}injected/think-blocks.ts`, formats: ["iife"], name: "injected" },
    },
  });
  const [first] = Array.isArray(made) ? made : [made];
  const chunk = first && "output" in first ? first.output[0] : undefined;
  const [, expression] = /^var injected=(\(function.*\}\)\(\{\}\));\s*$/s.exec(chunk?.code ?? "") ?? [];
  if (expression === undefined) throw new Error("The bundler made something else than one expression.");
  return [
    "// Made from injected/think-blocks.ts by `npm run generate`. Do not edit.",
    `export const INJECTED_SOURCE = ${JSON.stringify(expression)};`,
    "",
  ].join("\n");
}

const source = await makeInjectedSource();
if (!process.argv.includes("--check")) writeFileSync(target, source);
else if (readFileSync(target, "utf8") !== source) {
  console.error("Run `npm run generate` and commit: src/ide/patch/injected-source.ts is not what its source makes.");
  process.exitCode = 1;
}
