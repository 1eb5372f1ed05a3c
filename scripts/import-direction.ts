import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/** Folders whose children are siblings: no child imports another, except `shared`. */
const FAMILIES: readonly string[] = ["faces", "drivers"];

const SHARED = "shared";

/**
 * What each folder of `src` may import of ours, beside itself. A folder that is not listed may import nothing, so a new
 * folder has to be added here. A family's row holds for each of its children that has none of its own; `faces/shared` names one child alone.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  gen: [],
  wire: ["core", "gen"],
  faces: ["core"],
  // It speaks Cursor's own protocol, so it works on the wire.
  "faces/cursor": ["core", "gen", "wire"],
  drivers: ["config", "core", "gen", "process", "wire"],
  files: ["core"],
  media: ["core"],
  schema: ["core"],
  state: ["core", "files"],
  observe: ["core"],
  usage: ["core", "files", "state"],
  metrics: ["core", "usage"],
  traces: ["core", "usage"],
  config: ["core", "files"],
  credentials: ["core", "config", "files", "gen", "wire"],
  ide: ["core", "files"],
  process: ["core"],
  mcp: ["core", "config", "files", "process"],
  "client-config": ["core", "files"],
  server: ["core", "config", "files", "faces/shared", "media", "metrics", "observe", "usage"],
  dashboard: ["config", "core", "faces/shared", "observe", "server", "usage"],
  sim: ["core", "gen", "replay", "wire"],
  drift: ["capture", "core", "gen", "wire"],
  capture: ["core", "gen", "observe", "wire"],
  replay: ["capture", "core", "gen", "wire"],
  cluster: ["core", "credentials", "observe", "server", "usage"],
  app: [
    "capture",
    "client-config",
    "cluster",
    "config",
    "core",
    "credentials",
    "dashboard",
    "drift",
    "drivers",
    "faces",
    "files",
    "gen",
    "mcp",
    "media",
    "metrics",
    "observe",
    "process",
    "schema",
    "server",
    "sim",
    "state",
    "traces",
    "usage",
    "wire",
  ],
  cli: [
    "app",
    "capture",
    "client-config",
    "cluster",
    "config",
    "core",
    "credentials",
    "drift",
    "drivers",
    "faces",
    "files",
    "gen",
    "ide",
    "mcp",
    "observe",
    "process",
    "replay",
    "server",
    "sim",
    "usage",
    "wire",
  ],
  // What other programs import: `excursor` and `excursor/simulator`.
  api: ["app", "config", "core", "server", "sim"],
  // The plugin is loaded into another program's process. It starts ours and imports nothing of it.
  opencode: [],
  "main.ts": ["cli"],
};

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)["'](\.{1,2}\/[^"']+)["']/g;

/** Returns a line for each import that points the wrong way. */
export function findWrongImports(root: string, mayImport = MAY_IMPORT): string[] {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith(".ts"),
  );
  return files.flatMap((entry) => {
    const file = join(entry.parentPath, entry.name);
    const from = placeOf(root, file);
    return [...readFileSync(file, "utf8").matchAll(IMPORT)].flatMap(([, specifier = ""]) => {
      const to = placeOf(root, resolve(dirname(file), specifier));
      const isAllowed =
        from.folder === to.folder
          ? from.child === to.child || to.child === SHARED
          : (mayImport[nameOf(from)] ?? mayImport[from.folder])?.some(
              (allowed) => allowed === to.folder || allowed === nameOf(to),
            );
      return isAllowed ? [] : [`${file}: ${nameOf(from)} may not import ${nameOf(to)} (${specifier})`];
    });
  });
}

interface Place {
  readonly folder: string;
  /** The folder below, in a family. */
  readonly child: string | undefined;
}

function placeOf(root: string, file: string): Place {
  const [folder = "", child] = relative(root, file).split(sep);
  return { folder, child: FAMILIES.includes(folder) ? child : undefined };
}

const nameOf = ({ folder, child }: Place): string => (child === undefined ? folder : `${folder}/${child}`);
