import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ExcursorError } from "../core/errors.ts";

/** One file of the page, as it is sent. */
export interface UiFile {
  readonly contentType: string;
  readonly etag: string;
  readonly bytes: Buffer;
  readonly gzip: Buffer;
}

export type UiFiles = ReadonlyMap<string, UiFile>;

/** The start page, which serves every address of the dashboard. */
export const INDEX = "index.html";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** This file is two levels below the package's root, in the sources and in the build. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BUILD_MS = 60_000;

/** Reads the bundle of the page into memory. Bundles it first, and calls `onBuild`, if it is outdated. */
export async function loadUiFiles(onBuild: () => void, root = ROOT): Promise<UiFiles> {
  if (isOutdated(root)) {
    onBuild();
    await build(root);
  }
  const folder = folderIn(root);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    paths.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      const name = path.slice(folder.length + 1).replaceAll(sep, "/");
      const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
      const contentType = TYPES[extname(name)] ?? "application/octet-stream";
      return [name, { contentType, etag, bytes, gzip: gzipSync(bytes, { level: 9 }) }];
    }),
  );
}

/** True in a checkout whose bundle is missing or older than its sources. An installed package has no sources. */
export function isOutdated(root = ROOT): boolean {
  const sources = join(root, "ui");
  if (!existsSync(sources)) return false;
  const index = join(folderIn(root), INDEX);
  if (!existsSync(index)) return true;
  const builtAt = statSync(index).mtimeMs;
  const entries = readdirSync(sources, { recursive: true, withFileTypes: true });
  return entries.some((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs > builtAt);
}

const folderIn = (root: string): string => join(root, "dist", "ui");

async function build(root: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, [join(root, "scripts", "build-ui.ts")], {
      cwd: root,
      timeout: BUILD_MS,
      windowsHide: true,
    });
  } catch (cause) {
    throw new ExcursorError("ui_not_built", [], { cause });
  }
}
