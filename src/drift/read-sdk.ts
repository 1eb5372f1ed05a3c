import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ExcursorError } from "../core/errors.ts";
import { readBundles } from "./read-bundles.ts";
import type { Schema } from "./schema.ts";

const run = promisify(execFile);

const PACKAGE = "@cursor/sdk";
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
/** The package has several builds of the same code. One is enough. */
const BUILDS = ["dist/esm", "dist/cjs", "dist/bundled", "dist", "."];
/** The largest build has 9 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Reads the schema out of Cursor's SDK: a folder with the package, or a version, which npm then downloads. */
export async function readSdk(pathOrVersion: string): Promise<Schema> {
  if (!VERSION.test(pathOrVersion)) return readPackage(pathOrVersion);
  const folder = await mkdtemp(join(tmpdir(), "excursor-sdk-"));
  try {
    await download(pathOrVersion, folder);
    return await readPackage(join(folder, "package"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(version: string, folder: string): Promise<void> {
  try {
    const { stdout } = await run("npm", ["pack", `${PACKAGE}@${version}`, "--silent", "--pack-destination", folder]);
    await run("tar", ["-xzf", stdout.trim(), "-C", folder], { cwd: folder });
  } catch (cause) {
    throw new ExcursorError("io", `npm could not download ${PACKAGE} ${version}.`, {
      hint: `Check the version with "npm view ${PACKAGE} versions", or give the folder of an installed package.`,
      cause,
    });
  }
}

async function readPackage(folder: string): Promise<Schema> {
  for (const build of BUILDS) {
    const sources = await readSources(join(folder, build));
    if (sources.length === 0) continue;
    const schema = parseSources(sources, folder);
    if (schema.messages.size > 0) return schema;
  }
  throw new ExcursorError("invalid-request", `No schema of Cursor was found in ${folder}.`, {
    hint: `Give the folder of the package ${PACKAGE}. If it is that, its encoding is one that Excursor does not know yet.`,
  });
}

function parseSources(sources: readonly string[], folder: string): Schema {
  try {
    return readBundles(sources);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new ExcursorError("invalid-request", `The code in ${folder} could not be parsed: ${cause.message}.`, {
      cause,
    });
  }
}

async function readSources(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder).catch(() => []);
  const files = entries.filter((name) => name.endsWith(".js")).map((name) => join(folder, name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > MAX_BYTES)
    throw new ExcursorError("too-large", `The code in ${folder} has ${bytes} bytes; at most ${MAX_BYTES} are read.`);
  return Promise.all(files.map((file) => readFile(file, "utf8")));
}
