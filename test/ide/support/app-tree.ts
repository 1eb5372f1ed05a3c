import { createHash } from "node:crypto";
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { IdeHost } from "../../../src/ide/host.ts";
import { cursorBundle, type Version } from "./cursor-bundles.ts";

export interface AppTree {
  /** `resources/app`. */
  readonly root: string;
  readonly home: string;
  readonly folder: string;
}

export interface AppTreeOptions {
  readonly version?: Version;
  /** By their names below `out/vs/workbench`. */
  readonly bundles?: Readonly<Record<string, string | Buffer>>;
  /** As the app would make it; null: there are none. */
  readonly checksum?: ((bytes: Buffer) => string) | null;
  /** More for product.json. */
  readonly product?: object;
}

export const DESKTOP = "workbench.desktop.main.js";
export const GLASS = "workbench.glass.main.js";
export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("base64").replace(/=+$/, "");
export const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("base64").replace(/=+$/, "");

/** Thousands of files are made sure to be on the disk: where there is one in memory, on that. */
const FAST = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** An app folder like Cursor's, and a home of Excursor's beside it. */
export function makeApp(options: AppTreeOptions = {}): AppTree {
  const folder = realpathSync(mkdtempSync(join(FAST, "excursor-ide-")));
  const root = join(folder, "cursor", "resources", "app");
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  fillApp(root, options);
  return { root, home, folder };
}

/** Puts a build of the app into the folder, as an update does. */
export function fillApp(root: string, options: AppTreeOptions = {}): void {
  const { version = "3.2.0", bundles, checksum = sha256, product = {} } = options;
  const files = bundles ?? { [DESKTOP]: cursorBundle(version), [GLASS]: cursorBundle(version) };
  const checksums: Record<string, string> = {};
  rmSync(root, { recursive: true, force: true });
  const write = (key: string, content: string | Buffer) => {
    const path = join(root, "out", key);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    chmodSync(path, 0o644);
    // The second bundle has no entry of its own in real builds.
    if (checksum && !key.endsWith(GLASS)) checksums[key] = checksum(readFileSync(path));
  };
  write("vs/base/parts/sandbox/electron-sandbox/preload.js", "preload();\n");
  for (const [name, content] of Object.entries(files)) write(`vs/workbench/${name}`, content);
  write("vs/code/electron-sandbox/workbench/workbench.html", "<!doctype html>\n");
  const commit = createHash("sha1").update(version).digest("hex");
  const json = { nameShort: "Cursor", applicationName: "cursor", version, commit, quality: "stable", ...product };
  const text = JSON.stringify(checksum ? { ...json, checksums, date: "2026-04-01" } : json, null, "\t");
  writeFileSync(join(root, "product.json"), `${text}\n`);
}

/** Every file below a folder, by name. */
export function snapshot(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== "ide.lock",
  );
  return new Map(
    entries
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(folder.length), readFileSync(path).toString("base64")]),
  );
}

/** What the IDE itself does some seconds after its start: each entry's file, hashed, against the entry. */
export function isPure(root: string): boolean {
  const { checksums = {} } = JSON.parse(readFileSync(join(root, "product.json"), "utf8")) as {
    checksums?: Record<string, string>;
  };
  return Object.entries(checksums).every(([key, expected]) => {
    const hash = createHash(expected.length === 43 ? "sha256" : "md5");
    return (
      hash
        .update(readFileSync(join(root, "out", key)))
        .digest("base64")
        .replace(/=+$/, "") === expected
    );
  });
}

/** The system, with nothing running but what a test says, and Node's syntax check for real. */
export function hostOf(tree: AppTree, changes: Partial<IdeHost> = {}): IdeHost & { readonly steps: string[] } {
  const steps: string[] = [];
  return {
    machine: { platform: "linux", environment: {}, userHome: join(tree.folder, "user") },
    files: fs,
    home: tree.home,
    processes: () => [],
    run: async () => ({ code: 0, output: "" }),
    now: () => new Date("2026-11-15T12:00:00Z"),
    signal: new AbortController().signal,
    onStep: (step) => steps.push(step),
    ...changes,
    steps,
  };
}

export const bundlePath = (root: string, name: string): string => join(root, "out/vs/workbench", name);

/** Changes an app as the script of cursor-thinking-solutions does, with its backups beside the files. */
export function patchAsSeed(root: string): void {
  const [bundle, product] = [join(root, "out/vs/workbench", DESKTOP), join(root, "product.json")];
  for (const path of [bundle, product]) writeFileSync(`${path}.backup`, readFileSync(path));
  const code =
    "handleTextDelta(n){if(!this.__thinkTagState)this.__thinkTagState={active:false};this._origHandleTextDelta(n)}" +
    "_origHandleTextDelta(n){if";
  const text = readFileSync(bundle, "utf8").replace("handleTextDelta(n){if", () => code);
  const before = sha256(readFileSync(bundle));
  writeFileSync(bundle, text);
  const json = readFileSync(product, "utf8").replace(before, () => sha256(Buffer.from(text)));
  writeFileSync(product, json);
}
