import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/**
 * What each folder of `src` may import of ours, itself aside. Whoever is not listed may import nothing, so a new
 * folder has to say where it stands. A face never meets a driver, and `core` knows nobody.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  gen: [],
  wire: ["core", "gen"],
  faces: ["core"],
  drivers: ["core", "gen", "process", "wire"],
  media: ["core"],
  schema: ["core"],
  state: ["core"],
  observe: ["core"],
  config: ["core"],
  credentials: ["core", "config", "gen", "wire"],
  ide: ["core"],
  process: ["core"],
  tools: ["core", "config", "process"],
  connect: ["core"],
  server: ["core", "config", "faces", "media", "observe"],
  sim: ["core", "gen", "wire"],
  cli: [
    "core",
    "config",
    "connect",
    "credentials",
    "drivers",
    "faces",
    "ide",
    "media",
    "observe",
    "process",
    "schema",
    "server",
    "sim",
    "state",
    "tools",
    "wire",
  ],
  // Loaded by another program, in another runtime: it starts ours as a process.
  opencode: [],
  "main.ts": ["cli"],
};

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)["'](\.{1,2}\/[^"']+)["']/g;

/** A line for each import that points the wrong way. */
export function findWrongImports(root: string, mayImport = MAY_IMPORT): string[] {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith(".ts"),
  );
  return files.flatMap((entry) => {
    const file = join(entry.parentPath, entry.name);
    const from = folderOf(root, file);
    return [...readFileSync(file, "utf8").matchAll(IMPORT)].flatMap(([, specifier = ""]) => {
      const to = folderOf(root, resolve(dirname(file), specifier));
      if (to === from || mayImport[from]?.includes(to)) return [];
      return [`${file}: ${from} may not import ${to} (${specifier})`];
    });
  });
}

const folderOf = (root: string, file: string): string => relative(root, file).split(sep)[0] ?? "";
