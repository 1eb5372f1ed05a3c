import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The sources of another commit, in a temporary folder, ready to run. */
export interface OtherCheckout {
  /** Its command line. */
  readonly program: string;
  remove(): void;
}

const INSTALL = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];

export function openCheckout(commit: string): OtherCheckout {
  const folder = mkdtempSync(join(tmpdir(), "excursor-drift-"));
  const tree = join(folder, "tree");
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    git("worktree", "prune");
  };
  try {
    git("worktree", "add", "--quiet", "--detach", tree, commit);
    const [ours, theirs] = [ROOT, tree].map((root) => readFileSync(join(root, "package-lock.json"), "utf8"));
    if (ours === theirs) linkPackages(tree);
    else execFileSync("npm", INSTALL, { cwd: tree, stdio: "pipe" });
  } catch (error) {
    remove();
    throw error;
  }
  return { program: join(tree, "bin/excursor.js"), remove };
}

/** Links every package by itself, so that each checkout has a compile cache of its own. */
function linkPackages(tree: string): void {
  mkdirSync(join(tree, "node_modules"));
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== ".cache") symlinkSync(join(ROOT, "node_modules", name), join(tree, "node_modules", name));
  }
}

/** Returns the commit's full name, or undefined if there is none. */
export function findCommit(revision: string): string | undefined {
  try {
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  } catch {
    return undefined;
  }
}

/** Whether this checkout has changes that no commit has. */
export const isDirty = (): boolean => git("status", "--porcelain") !== "";

const git = (...args: string[]): string =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
