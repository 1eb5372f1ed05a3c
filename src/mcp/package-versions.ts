import { readFileSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";
import { realFile } from "./real-file.ts";

/**
 * The installed packages that a command line runs, each as `name@version`: a file inside of one, or a name that `npx`
 * and the like find in the project. What is only fetched when it is run has none here.
 */
export function packageVersions(words: readonly string[], folder: string): readonly string[] {
  const found = words.flatMap((word) => [...ofFile(resolve(folder, word)), ...ofName(word, folder)]);
  return [...new Set(found)].sort();
}

/** Whether a command line fetches a package by a name without a version: another one may run tomorrow. */
export function isUnpinned(words: readonly string[], folder: string): boolean {
  const [command = "", ...args] = words;
  const spec = args.find((word) => !word.startsWith("-") && word !== "dlx");
  if (!/^(?:npx|bunx|pnpx|uvx)$/.test(parse(command).name) || spec === undefined) return false;
  return !/.[@=]\d/.test(spec) && ofName(spec, folder).length === 0;
}

const SPEC = /^((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:@.*)?$/;
/** They run others, and are renewed without anybody's doing. */
const LAUNCHERS = new Set(["npm", "pnpm", "yarn", "corepack", "bun"]);

function ofFile(path: string): readonly string[] {
  const file = realFile(path);
  if (file === undefined) return [];
  for (let at = dirname(file); at.includes(`${sep}node_modules${sep}`); at = dirname(at)) {
    const version = read(join(at, "package.json"));
    if (version) return version;
  }
  return [];
}

function ofName(word: string, folder: string): readonly string[] {
  const name = SPEC.exec(word)?.[1];
  if (name === undefined) return [];
  for (let at = resolve(folder); ; at = dirname(at)) {
    const version = read(join(at, "node_modules", name, "package.json"));
    if (version) return version;
    if (at === dirname(at)) return [];
  }
}

/** Undefined if there is no package there. */
function read(path: string): readonly string[] | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(path, "utf8"));
    if (typeof name !== "string" || typeof version !== "string") return undefined;
    return LAUNCHERS.has(name) ? [] : [`${name}@${version}`];
  } catch {
    return undefined;
  }
}
