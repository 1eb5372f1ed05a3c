import { readFileSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";
import { realFile } from "./real-file.ts";

/**
 * Returns the installed packages that a command line runs, as `name@version`: files inside a package, and names that
 * `npx` and the like find in the project. Packages that are fetched when run are not included.
 */
export function packageVersions(words: readonly string[], folder: string): readonly string[] {
  const found = words.flatMap((word) => [...ofFile(resolve(folder, word)), ...ofName(word, folder)]);
  return [...new Set(found)].sort();
}

/** True if a command line fetches a package without a version, so that another one may run tomorrow. */
export function isUnpinned(words: readonly string[], folder: string): boolean {
  const [command = "", ...args] = words;
  const spec = args.find((word) => !word.startsWith("-") && word !== "dlx");
  if (!/^(?:npx|bunx|pnpx|uvx)$/.test(parse(command).name) || spec === undefined) return false;
  return !/.[@=]\d/.test(spec) && ofName(spec, folder).length === 0;
}

const SPEC = /^((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:@.*)?$/;
/** Launchers run other packages, and are often updated automatically. */
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

/** Returns undefined if there is no package. */
function read(path: string): readonly string[] | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(path, "utf8"));
    if (typeof name !== "string" || typeof version !== "string") return undefined;
    return LAUNCHERS.has(name) ? [] : [`${name}@${version}`];
  } catch {
    return undefined;
  }
}
