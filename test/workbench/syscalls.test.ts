import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { type AppTree, bundlePath, DESKTOP, GLASS, isPure, makeApp, snapshot } from "../ide/support/app-tree.ts";

/** REL-54, REL-55 with real processes and real system calls; `test/faults/ide-files.test.ts` does the same in one process. */

const SCRIPT = fileURLToPath(new URL("support/change-process.ts", import.meta.url));
const hasStrace = spawnSync("strace", ["-V"]).status === 0;
/** Those that change something. Node itself makes a few of them when it starts, which does no harm. */
const CALLS = ["rename", "fsync", "unlink", "link", "mkdir", "write", "pwrite64", "fchmod"];

const trees: AppTree[] = [];
afterAll(() => {
  for (const { folder } of trees) rmSync(folder, { recursive: true, force: true });
});

function change(verb: "patch" | "restore", tree: AppTree, ...strace: readonly string[]) {
  const program = [process.execPath, SCRIPT, verb, tree.root, tree.home];
  const [command = "", ...args] =
    strace.length > 0 ? ["strace", "-f", "-qq", "-o", "/dev/null", ...strace, ...program] : program;
  return spawnSync(command, args, { encoding: "utf8" });
}

describe.skipIf(!hasStrace).each(["patch", "restore"] as const)("%s", (verb) => {
  it.each([
    ["kill -9", "signal=KILL"],
    ["a full disk", "error=ENOSPC"],
  ])("%s at every system call that changes something", (_, fault) => {
    const tree = makeApp();
    trees.push(tree);
    const pristine = snapshot(tree.root);
    change("patch", tree);
    const patched = snapshot(tree.root);
    if (verb === "patch") change("restore", tree);
    const kept = `${tree.folder}-kept`;
    trees.push({ ...tree, folder: kept });
    cpSync(tree.folder, kept, { recursive: true });
    const whole = new Set(
      [DESKTOP, GLASS].flatMap((name) => [pristine, patched].map((state) => state.get(`/out/vs/workbench/${name}`))),
    );
    let points = 0;
    for (const call of CALLS) {
      const reset = () => {
        rmSync(tree.folder, { recursive: true });
        cpSync(kept, tree.folder, { recursive: true });
      };
      reset();
      const most = countCalls(verb, tree, call);
      for (let at = 1; at <= most; at++) {
        reset();
        change(verb, tree, "-e", `trace=${call}`, "-e", `inject=${call}:${fault}:when=${at}`);
        points++;
        for (const name of [DESKTOP, GLASS]) {
          expect(whole.has(readFileSync(bundlePath(tree.root, name)).toString("base64")), `${call} ${at}`).toBe(true);
        }
        const next = points % 2 === 0 ? "patch" : "restore";
        expect(change(next, tree).status, `${call} ${at}`).toBe(0);
        expect(snapshot(tree.root), `${call} ${at}`).toEqual(next === "patch" ? patched : pristine);
        expect(isPure(tree.root)).toBe(true);
        expect(readdirSync(join(tree.home, "ide")).filter((name) => /excursor-|journal|lock/.test(name))).toEqual([]);
      }
    }
    expect(points).toBeGreaterThan(fault.startsWith("signal") ? 30 : 10);
    console.error(`${verb}, ${fault}: ${points} points`);
  });
});

function countCalls(verb: "patch" | "restore", tree: AppTree, call: string): number {
  const log = `${tree.folder}.log`;
  const { status } = change(verb, tree, "-o", log, "-e", `trace=${call}`);
  expect(status).toBe(0);
  const calls = readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line.includes(`${call}(`));
  rmSync(log);
  return calls.length;
}
