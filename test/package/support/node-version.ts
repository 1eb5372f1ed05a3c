import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npmInstall, run } from "./installation.ts";

/** Returns the program of a version of Node, from npm. It is kept for the next run of the tests. */
export function nodeOf(version: string): string {
  const folder = join(tmpdir(), `excursor-node-${version}`);
  const program = join(folder, "node_modules/node/bin/node");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    npmInstall(folder, `node@${version}`);
  }
  const found = run(program, ["--version"], folder).trim();
  if (found !== `v${version}`) throw new Error(`expected Node ${version}, found ${found}`);
  return program;
}
