import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import recheck from "recheck/lib/browser.js";
import { parseSync, Visitor } from "rolldown/utils";

/** A regular expression of `src`, as it is written. */
export interface Pattern {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** The expressions that the checker does not find linear, each with the reason why it may stay. */
const REVIEWED = "scripts/patterns.json";
/** Expressions that were found linear on this machine: the checker takes seconds for some. */
const CACHE = "node_modules/.cache/linear-patterns.json";
const GENERATED = ["src/gen/**", "src/ide/patch/injected-source.ts"];

/** Returns the literal expressions, and the places of those that are put together. */
export function findPatterns(files: readonly string[] = globSync("src/**/*.ts", { exclude: GENERATED })) {
  const patterns: Pattern[] = [];
  const built: Pattern[] = [];
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    const placeOf = (start: number) => `${file}:${text.slice(0, start).split("\n").length}`;
    new Visitor({
      Literal(node) {
        if ("regex" in node)
          patterns.push({ place: placeOf(node.start), source: node.regex.pattern, flags: node.regex.flags });
      },
      NewExpression({ callee, start, end }) {
        if (callee.type !== "Identifier" || callee.name !== "RegExp") return;
        built.push({ place: placeOf(start), source: text.slice(start, end).replace(/\s+/g, " "), flags: "" });
      },
    }).visit(parseSync(file, text).program);
  }
  return { patterns, built };
}

/**
 * True if an expression is linear at sight: nothing in it is repeated without end, or it is anchored and one character is.
 * The checker is asked about all others.
 */
export function isPlain({ source, flags }: Pick<Pattern, "source" | "flags">): boolean {
  const bare = source.replace(/\\./g, "a").replace(/\[[^\]]*\]/g, "a");
  const repeats = bare.match(/[*+]|\{\d+,\}|\{(?:\d+,)?\d{3,}\}/g) ?? [];
  if (repeats.length === 0) return true;
  const isOne = repeats.length === 1 && !/\)(?:[*+]|\{\d)/.test(bare);
  return isOne && bare.startsWith("^") && !bare.includes("|") && !flags.includes("m");
}

export const readReviewed = (): Readonly<Record<string, string>> => JSON.parse(readFileSync(REVIEWED, "utf8"));

/** Returns what is wrong, a line each. */
function problems(): readonly string[] {
  const reviewed = readReviewed();
  const cached = readCache();
  const { patterns, built } = findPatterns();
  const found: string[] = [];
  const seen = new Set<string>();
  for (const { place, source, flags } of [...patterns, ...built]) {
    const text = flags === "" && source.startsWith("new ") ? source : `/${source}/${flags}`;
    seen.add(text);
    if (text in reviewed || cached.has(text) || (text.startsWith("/") && isPlain({ source, flags }))) continue;
    const verdict = text.startsWith("/") ? verdictOn(source, flags) : "it is put together";
    if (verdict === undefined) cached.add(text);
    else found.push(`${place}: ${text}: ${verdict}. Rewrite it, or give the reason why it may stay in ${REVIEWED}.`);
  }
  mkdirSync(dirname(CACHE), { recursive: true });
  writeFileSync(CACHE, JSON.stringify([...cached].filter((text) => seen.has(text))));
  const stale = Object.keys(reviewed).filter((text) => !seen.has(text));
  return [...found, ...stale.map((text) => `${REVIEWED} has ${text}, which is not in src: remove it there.`)];
}

/** Returns undefined for an expression that takes a time in proportion to the text. Without clocks, so that it stays the same. */
function verdictOn(source: string, flags: string): string | undefined {
  const options = { timeout: 10_000, attackTimeout: null, incubationTimeout: null, randomSeed: 1 } as const;
  const result = recheck.checkSync(source, flags, options);
  if (result.status === "safe") return undefined;
  if (result.status === "unknown") return `the checker cannot decide (${result.error.kind})`;
  return `it backtracks, as over ${result.attack.pattern.slice(0, 80)}`;
}

function readCache(): Set<string> {
  try {
    return new Set(JSON.parse(readFileSync(CACHE, "utf8")) as string[]);
  } catch {
    return new Set();
  }
}

if (import.meta.main) {
  const found = problems();
  if (found.length > 0) console.error(found.join("\n"));
  process.exitCode = found.length === 0 ? 0 : 1;
}
