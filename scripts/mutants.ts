import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, normalize, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CLIENTS_FOLDER, installMutationTester } from "./install-clients.ts";
import { type Fault, faultKey } from "./mutants-sample.ts";

/** What is tried in ten minutes on two cores. */
const MOST_FAULTS = 300;
const TEMP_FOLDER = ".stryker-tmp";

/** 1-based, inclusive. */
interface Lines {
  readonly first: number;
  readonly last: number;
}

/** Source files with the lines that may be changed, or all of them. */
type Scope = ReadonlyMap<string, readonly Lines[] | "all">;

interface Outcome {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
  /** Unreached: no test that needs no process runs the code. */
  readonly outcome: "noticed" | "unnoticed" | "unreached";
}

/** Ends the script with a sentence instead of a stack. */
class Refusal extends Error {}

/** The files of src that `names` means: sources or folders of them. None means all. Generated code is left out. */
function namedFiles(names: readonly string[]): Scope {
  const sources = globSync("src/**/*.ts").filter((file) => !file.startsWith(join("src", "gen")));
  const files = names.flatMap((name) => {
    const path = relative(".", normalize(name));
    if (!statSync(path, { throwIfNoEntry: false })) throw new Refusal(`There is no file ${name}.`);
    const found = sources.filter((file) => file === path || file.startsWith(join(path, "/")));
    if (found.length === 0) throw new Refusal(`${name} holds no sources of src/; generated ones do not count.`);
    return found;
  });
  return new Map((names.length > 0 ? files : sources).map((file) => [file, "all"]));
}

/** The lines of `all` that differ from the revision, with files that git does not know yet. */
function changedLines(revision: string, all: Scope): Scope {
  const { status } = runGit("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  if (status !== 0) throw new Refusal(`Git knows no revision ${revision}.`);
  const scope = new Map<string, readonly Lines[] | "all">();
  let file = "";
  for (const line of runGit("diff", "--unified=0", "--no-ext-diff", "--no-prefix", revision, "--", "src").stdout.split(
    "\n",
  )) {
    if (line.startsWith("+++ ")) file = line.slice(4);
    const [, first, count = "1"] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (first === undefined || count === "0" || !all.has(file)) continue;
    const known = scope.get(file) ?? [];
    if (known !== "all") scope.set(file, [...known, { first: Number(first), last: Number(first) + Number(count) - 1 }]);
  }
  const { stdout } = runGit("ls-files", "--others", "--exclude-standard", "--", "src");
  for (const name of stdout.split("\n")) if (all.has(name)) scope.set(name, "all");
  return scope;
}

function runGit(...args: readonly string[]): { readonly status: number | null; readonly stdout: string } {
  return spawnSync("git", args, { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
}

/** The parts of Stryker that are used. It is not a dependency, so its types are not there. */
interface Stryker {
  readonly runMutationTest: (options: object) => Promise<readonly (Fault & { readonly status: string })[]>;
  readonly listFaults: (files: readonly object[]) => Promise<readonly Fault[]>;
  readonly runner: string;
}

async function loadStryker(): Promise<Stryker> {
  installMutationTester();
  const installed = createRequire(join(CLIENTS_FOLDER, "package.json"));
  const core = installed.resolve("@stryker-mutator/core");
  const { Stryker: Run } = await import(pathToFileURL(core).href);
  const instrumenter = createRequire(core).resolve("@stryker-mutator/instrumenter");
  const { Instrumenter } = await import(pathToFileURL(instrumenter).href);
  const log = { debug: () => {}, info: () => {}, warn: console.error, isDebugEnabled: () => false };
  return {
    runMutationTest: (options) => new Run(options).runMutationTest(),
    listFaults: async (files) => {
      const rules = { ignorers: [], excludedMutations: [], plugins: null };
      return (await new Instrumenter(log).instrument(files, rules)).mutants;
    },
    runner: installed.resolve("@stryker-mutator/vitest-runner"),
  };
}

/** Lists the faults within the lines of `scope`. Faults of sentences are left out: no test should hold a wording. */
async function listFaults(stryker: Stryker, scope: Scope): Promise<readonly Fault[]> {
  const sources = new Map([...scope.keys()].map((file) => [file, readFileSync(file, "utf8")]));
  const faults = await stryker.listFaults([...sources].map(([name, content]) => ({ name, content, mutate: true })));
  return faults.filter((fault) => {
    const lines = scope.get(fault.fileName) ?? [];
    const { start, end } = fault.location;
    const isSentence =
      fault.mutatorName === "StringLiteral" && /\S \S/.test(textAt(sources.get(fault.fileName) ?? "", fault));
    const isMeant = lines === "all" || lines.some(({ first, last }) => first <= start.line + 1 && end.line + 1 <= last);
    return isMeant && !isSentence;
  });
}

function textAt(source: string, { location: { start, end } }: Fault): string {
  const lines = source.split("\n").slice(start.line, end.line + 1);
  const last = lines.length - 1;
  return lines
    .map((line, index) => line.slice(index === 0 ? start.column : 0, index === last ? end.column : undefined))
    .join("\n");
}

/** Picks `count` of the values, the same ones for the same seed. */
function sampleOf<T>(values: readonly T[], count: number, seed: number): readonly T[] {
  const rest = [...values];
  let state = seed >>> 0;
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return rest.splice(((bits ^ (bits >>> 14)) >>> 0) % rest.length, 1);
  }).flat();
}

/** Stryker's pattern of the place of a fault. Lines count from 1 there, columns from 0. */
const rangeOf = ({ fileName, location: { start, end } }: Fault): string =>
  `${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`;

async function tryFaults(stryker: Stryker, sample: readonly Fault[]): Promise<readonly Outcome[]> {
  const texts = new Map(sample.map((fault) => [fault.fileName, readFileSync(fault.fileName, "utf8")]));
  process.on("exit", () => rmSync(TEMP_FOLDER, { recursive: true, force: true }));
  const results = await stryker.runMutationTest({
    // Every fault that is written into the sources makes them slower, chosen or not.
    mutate: sample.map(rangeOf),
    plugins: [stryker.runner, fileURLToPath(new URL("mutants-sample.ts", import.meta.url))],
    checkers: ["sample"],
    sample: sample.map((fault) => faultKey(fault.fileName, fault)),
    testRunner: "vitest",
    vitest: { configFile: "vitest.mutants.config.ts" },
    coverageAnalysis: "perTest",
    // Module-level code has run before a fault is switched on.
    ignoreStatic: true,
    tempDirName: TEMP_FOLDER,
    ignorePatterns: [".clients", "dist", "coverage"],
    // It cannot use TypeScript 7, and nothing here needs it to.
    tsconfigFile: "none",
    disableTypeChecks: false,
    dryRunTimeoutMinutes: 20,
    reporters: ["progress-append-only"],
    logLevel: "error",
  });
  const outcomes: Readonly<Record<string, Outcome["outcome"]>> = {
    Killed: "noticed",
    Timeout: "noticed",
    // An unhandled error, which fails a test run.
    RuntimeError: "noticed",
    Survived: "unnoticed",
    NoCoverage: "unreached",
  };
  return results.flatMap((result) => {
    const outcome = outcomes[result.status];
    if (outcome === undefined) return [];
    const file = relative(".", result.fileName);
    const { start, end } = result.location;
    const location = {
      start: { line: start.line - 1, column: start.column - 1 },
      end: { line: end.line - 1, column: end.column - 1 },
    };
    const original = textAt(texts.get(file) ?? "", { ...result, location });
    const { replacement, mutatorName: mutator } = result;
    return [{ file, line: start.line, mutator, original, replacement, outcome }];
  });
}

/** Says what nobody noticed, then the rates of each room and of all. */
function report(outcomes: readonly Outcome[]): string {
  const missed = outcomes
    .filter(({ outcome }) => outcome !== "noticed")
    .toSorted(byPlace)
    .map(describe);
  const rooms = Map.groupBy(outcomes, ({ file }) =>
    file
      .split("/")
      .slice(0, file.split("/").length > 2 ? 2 : 1)
      .join("/"),
  );
  const rates = [...rooms].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([room, faults]) => rate(room, faults));
  return [...missed, "", ...rates, rate("all", outcomes), ""].join("\n");
}

const byPlace = (a: Outcome, b: Outcome): number => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1);

function describe({ file, line, mutator, original, replacement, outcome }: Outcome): string {
  return `${outcome}  ${file}:${line}  ${mutator}  ${oneLine(original)}  →  ${oneLine(replacement)}`;
}

function oneLine(text: string): string {
  const short = text.replace(/\s+/g, " ");
  return short.length > 60 ? `${short.slice(0, 59)}…` : short;
}

function rate(room: string, faults: readonly Outcome[]): string {
  const count = (kind: Outcome["outcome"]) => faults.filter(({ outcome }) => outcome === kind).length;
  const [noticed, unreached] = [count("noticed"), count("unreached")];
  const reached = faults.length - unreached;
  const percent = reached === 0 ? "–" : `${Math.round((100 * noticed) / reached)} %`;
  const outside = unreached === 0 ? "" : `; ${unreached} more are reached by no test without a process`;
  return `${room.padEnd(20)} ${percent.padStart(5)}  ${noticed} of ${reached} noticed${outside}`;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { since: { type: "string" }, seed: { type: "string" }, json: { type: "string" } },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Refusal(`--seed takes a whole number, not ${values.seed}.`);
  const named = namedFiles(positionals);
  const scope = values.since === undefined ? named : changedLines(values.since, named);
  const stryker = await loadStryker();
  const faults = await listFaults(stryker, scope);
  if (faults.length === 0) throw new Refusal("Nothing to try: no code was chosen.");
  const sample = sampleOf(faults, MOST_FAULTS, seed);
  const which =
    sample.length < faults.length
      ? `${sample.length} of ${faults.length} faults, --seed ${seed}`
      : `${faults.length} faults`;
  console.log(`Trying ${which}; those of module-level code do not count.`);
  const outcomes = await tryFaults(stryker, sample);
  process.stdout.write(report(outcomes));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ seed, outcomes }, null, 2)}\n`);
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  if (!(error instanceof Refusal) && !isUsage) throw error;
  console.error(`${error.message}\nUsage: npm run mutants -- [--since REV] [--seed N] [--json FILE] [FILE or FOLDER…]`);
  process.exitCode = 2;
}
