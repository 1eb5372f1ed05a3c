import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import type { FileSystem } from "../../src/files/file-system.ts";
import { patchApp, restoreApp } from "../../src/ide/change-app.ts";
import {
  type AppTree,
  bundlePath,
  DESKTOP,
  fillApp,
  GLASS,
  hostOf,
  isPure,
  makeApp,
  snapshot,
} from "../ide/support/app-tree.ts";
import { type Fault, faultyFiles } from "../ide/support/faulty-files.ts";
import { pretendOlder } from "../ide/support/pretend-older.ts";

/** REL-54, REL-55: whatever goes wrong, after the next start the app is as it came or fully patched. */

// Hundreds of patches in each.
vi.setConfig({ testTimeout: 120_000 });

const trees: AppTree[] = [];
afterAll(() => {
  for (const { folder } of trees) rmSync(folder, { recursive: true, force: true });
});

const patch = (tree: AppTree, files?: FileSystem) =>
  patchApp(hostOf(tree, files && { files }), tree.root, { resign: false });
const restore = (tree: AppTree, files?: FileSystem) => restoreApp(hostOf(tree, files && { files }), tree.root);

interface Scenario {
  readonly prepare: (tree: AppTree) => Promise<unknown>;
  readonly act: (tree: AppTree, files?: FileSystem) => Promise<unknown>;
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  patch: { prepare: async () => {}, act: patch },
  restore: { prepare: patch, act: restore },
  "a patch over an older one": {
    prepare: async (tree) => {
      await patch(tree);
      pretendOlder(tree);
    },
    act: patch,
  },
  "a patch after an update": {
    prepare: async (tree) => {
      await patch(tree);
      fillApp(tree.root, { version: "3.22.5" });
    },
    act: patch,
  },
  "the recovery of a patch": { prepare: (tree) => halfWay(tree, patch), act: patch },
  "the recovery of a restore": {
    prepare: async (tree) => {
      await patch(tree);
      await halfWay(tree, restore);
    },
    act: restore,
  },
};

/** Stops between the rename of the first file and that of the second. */
async function halfWay(tree: AppTree, act: Scenario["act"]): Promise<void> {
  const { files } = faultyFiles();
  let renames = 0;
  const renameSync = (from: string, to: string) => {
    if (to.startsWith(tree.root) && ++renames > 1) throw new Error("killed");
    files.renameSync(from, to);
  };
  let isDead = false;
  const dying = new Proxy({ ...files, renameSync } as FileSystem, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (isDead) throw new Error("killed");
        try {
          return value(...args);
        } catch (error) {
          if (error instanceof Error && error.message === "killed") isDead = true;
          throw error;
        }
      };
    },
  });
  await act(tree, dying).catch(() => {});
}

describe.each(Object.entries(SCENARIOS))("%s", (_, { prepare, act }) => {
  /** Copies of one prepared tree, put in its place again and again: records know the app by its path. */
  async function setUp() {
    const tree = makeApp();
    trees.push(tree);
    await prepare(tree);
    const kept = `${tree.folder}-kept`;
    trees.push({ ...tree, folder: kept });
    cpSync(tree.folder, kept, { recursive: true, preserveTimestamps: true });
    const reset = () => {
      rmSync(tree.folder, { recursive: true });
      cpSync(kept, tree.folder, { recursive: true, preserveTimestamps: true });
    };
    // The two whole states that there are.
    await act(tree);
    await patch(tree);
    const patched = snapshot(tree.root);
    await restore(tree);
    const pristine = snapshot(tree.root);
    reset();
    const whole = new Set(
      [patched, pristine, snapshot(tree.root)].flatMap((state) =>
        [DESKTOP, GLASS].map((name) => state.get(`/out/vs/workbench/${name}`) ?? ""),
      ),
    );
    return { tree, reset, patched, pristine, whole };
  }

  async function sweep(makeFault: (at: number) => Fault, onError: (error: unknown) => void): Promise<number> {
    const { tree, reset, patched, pristine, whole } = await setUp();
    for (let at = 1; ; at++) {
      reset();
      const { files, calls } = faultyFiles(makeFault(at));
      const error = await act(tree, files).then(
        () => undefined,
        (thrown: unknown) => thrown ?? "thrown",
      );
      if (calls() < at) return at - 1;
      if (error !== undefined) onError(error);
      // Before anything is mended every bundle is whole, so that the IDE starts.
      for (const name of [DESKTOP, GLASS]) {
        expect(whole.has(readFileSync(bundlePath(tree.root, name)).toString("base64")), `call ${at}: ${name}`).toBe(
          true,
        );
      }
      JSON.parse(readFileSync(join(tree.root, "product.json"), "utf8"));
      // The next start, whatever is asked of it.
      const next = at % 2 === 0 ? patch : restore;
      await next(tree);
      expect(snapshot(tree.root), `call ${at}`).toEqual(next === patch ? patched : pristine);
      expect(isPure(tree.root)).toBe(true);
      expect(litterIn(tree), `call ${at}`).toEqual([]);
    }
  }

  it("killed at every call", async () => {
    expect(
      await sweep(
        (at) => ({ type: "kill", at }),
        () => {},
      ),
    ).toBeGreaterThan(50);
  });

  it("ENOSPC or EIO at every call", async () => {
    await sweep((at) => ({ type: "error", at, code: at % 3 === 0 ? "EIO" : "ENOSPC" }), expectExplained);
  });

  it("a disk that is full from any call on", async () => {
    await sweep((at) => ({ type: "full", at }), expectExplained);
  });
});

function expectExplained(error: unknown): void {
  expect(error).toBeInstanceOf(ExcursorError);
  expect([65, 74, 75]).toContain(exitCodeOf((error as ExcursorError).kind));
}

/** Nothing is left lying about, neither in the app nor in the store. */
function litterIn(tree: AppTree): readonly string[] {
  return readdirSync(tree.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.excursor-|journal\.json/.test(name),
  );
}
