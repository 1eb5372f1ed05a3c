import { spawnSync } from "node:child_process";
import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder that is gone after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-package-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program without the variables that npm sets for scripts, and returns its stdout. Throws with its stderr. */
export function run(command: string, args: readonly string[], folder: string, environment: Environment = {}): string {
  const { status, stdout, stderr } = tryRun(command, args, folder, environment);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
  return stdout;
}

export const tryRun = (command: string, args: readonly string[], folder: string, environment: Environment = {}) =>
  spawnSync(command, args, { cwd: folder, encoding: "utf8", env: { ...plainEnvironment(), ...environment } });

type Environment = Readonly<Record<string, string>>;

/** Our own environment without settings of Excursor and of the npm that runs the tests. */
const plainEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => !/^(?:npm_|EXCURSOR_|XDG_|NODE_ENV|VITEST|INIT_CWD)/i.test(entry[0]),
    ),
  );

/** Installs packages with npm, as a user does. */
export const npmInstall = (folder: string, ...packages: string[]): string =>
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages], folder);

/** The path of every file and folder below a folder. Links are not followed: they may lead out of it. */
export function listFiles(folder: string): string[] {
  // Node's own recursion follows links.
  const visit = (path: string): string[] =>
    readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
      const child = join(path, entry.name);
      return entry.isDirectory() ? [child, ...visit(child)] : [child];
    });
  return visit("").sort();
}

/** Returns the size of all files below a folder. */
export const sizeInBytes = (folder: string): number =>
  listFiles(folder).reduce((sum, name) => sum + lstatSync(join(folder, name)).size, 0);
