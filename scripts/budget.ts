import { globSync, readFileSync, writeFileSync } from "node:fs";
import { DRIVERS } from "../src/app/drivers.ts";
import { settingsWith } from "../src/app/load-config.ts";
import { countLines, countSource, countWords } from "./counts.ts";
import { type Figures, findOverruns, lower } from "./within-budget.ts";

/** The largest value that each count may have. */
const FILE = "scripts/budget.json";

const GENERATED = ["src/gen/**", "src/ide/patch/injected-source.ts"];
/** What reads variables on behalf of the user, and passes them on. */
const COMMANDS = /^src\/(?:cli\/|main\.ts$)/;
/** In lines. */
const LONG_FUNCTION = 100;

const read = (file: string): string => readFileSync(file, "utf8");

function countAll(): Figures {
  const source = globSync("src/**/*.ts", { exclude: GENERATED }).map((file) => {
    const text = read(file);
    return { file, lines: countLines(text), ...countSource(file, text) };
  });
  const functionLines = source.flatMap((file) => file.functionLines);
  const below = source.filter(({ file }) => !COMMANDS.test(file));
  const words = (pattern: string) => sum(globSync(pattern).map((file) => countWords(read(file))));
  const { dependencies, optionalDependencies } = JSON.parse(read("package.json"));
  return {
    "lines of src": sum(source.map(({ lines }) => lines)),
    "lines of ui": sum(globSync("ui/**/*.{ts,tsx,css,html}").map((file) => countLines(read(file)))),
    "files of src": source.length,
    "rooms of src": globSync("src/*/").length,
    settings: settingsWith(DRIVERS).length,
    "words of README.md": words("README.md"),
    "words of ARCHITECTURE.md": words("ARCHITECTURE.md"),
    "words of SECURITY.md": words("SECURITY.md"),
    "words of CHANGELOG.md": words("CHANGELOG.md"),
    "words of docs": words("docs/**/*.md"),
    "spreads of an engine": sum(source.map(({ engineSpreads }) => engineSpreads)),
    "uses of AsyncLocalStorage": sum(source.map(({ asyncLocalStorages }) => asyncLocalStorages)),
    "reads of process.env below the commands": sum(below.map(({ environmentReads }) => environmentReads)),
    "imports of the file of src/app with most": Math.max(
      ...source.filter(({ file }) => file.startsWith("src/app/")).map(({ imports }) => imports),
    ),
    "lines of the longest file of src": Math.max(...source.map(({ lines }) => lines)),
    "lines of the longest function of src": Math.max(...functionLines),
    [`functions of src above ${LONG_FUNCTION} lines`]: functionLines.filter((lines) => lines > LONG_FUNCTION).length,
    "production dependencies": Object.keys({ ...dependencies, ...optionalDependencies }).length,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function printTable(now: Figures, allowed: Figures): void {
  console.log(`${"".padEnd(42)}${"now".padStart(8)}${"allowed".padStart(9)}`);
  for (const [name, count] of Object.entries(now)) {
    const most = allowed[name] ?? Number.NaN;
    const note = count < most ? `  ${most - count} less than allowed` : count > most ? "  too many" : "";
    console.log(`${name.padEnd(42)}${String(count).padStart(8)}${String(most).padStart(9)}${note}`);
  }
}

function main(args: readonly string[]): void {
  const [mode = "", ...rest] = args;
  if (rest.length > 0 || !["", "--check", "--lower"].includes(mode)) {
    console.error(`scripts/budget.ts takes --check, --lower or nothing, not ${args.join(" ")}.`);
    process.exitCode = 64;
    return;
  }
  const [now, allowed] = [countAll(), JSON.parse(read(FILE)) as Figures];
  if (mode === "--lower") writeFileSync(FILE, `${JSON.stringify(lower(now, allowed), undefined, 2)}\n`);
  if (mode === "") printTable(now, allowed);
  if (mode !== "--check") return;
  const overruns = findOverruns(now, allowed);
  if (overruns.length > 0) console.error(overruns.join("\n"));
  process.exitCode = overruns.length === 0 ? 0 : 1;
}

main(process.argv.slice(2));
