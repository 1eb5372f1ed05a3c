import fs, { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { patchApp, previewPatch, restoreApp } from "../../src/ide/change-app.ts";
import { examine } from "../../src/ide/doctor.ts";
import type { IdeHost } from "../../src/ide/host.ts";
import { removedPatches } from "../../src/ide/removed-patches.ts";
import { statusOf } from "../../src/ide/status.ts";
import {
  type AppTree,
  bundlePath,
  DESKTOP,
  fillApp,
  hostOf,
  makeApp,
  patchAsSeed,
  snapshot,
} from "./support/app-tree.ts";
import { cursorBundle } from "./support/cursor-bundles.ts";
import { faultyFiles } from "./support/faulty-files.ts";
import { pretendOlder } from "./support/pretend-older.ts";

let tree: AppTree;
beforeEach(() => {
  tree = makeApp();
});
afterEach(() => rmSync(tree.folder, { recursive: true }));

const patch = (changes?: Partial<IdeHost>) => patchApp(hostOf(tree, changes), tree.root, { resign: false });

/** A process that dies between the renames of two files. */
async function stopHalfWay(): Promise<void> {
  let [renames, isDead] = [0, false];
  const { files } = faultyFiles();
  const dying = new Proxy(files, {
    get: (target, name) => {
      const call = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (name === "renameSync" && String(args[1]).startsWith(tree.root) && ++renames > 1) isDead = true;
        if (isDead) throw new Error("killed");
        return call(...args);
      };
    },
  });
  await patch({ files: dying }).catch(() => {});
  rmSync(join(tree.home, "ide/lock"), { force: true });
}

describe("statusOf", () => {
  it.each<[string, () => unknown]>([
    ["pristine", () => {}],
    ["patched", () => patch()],
    [
      "outdated",
      async () => {
        await patch();
        pretendOlder(tree);
      },
    ],
    [
      "updated",
      async () => {
        await patch();
        fillApp(tree.root, { version: "3.22.5" });
      },
    ],
    ["foreign", () => appendFileSync(bundlePath(tree.root, DESKTOP), ";")],
    ["replaceable", () => patchAsSeed(tree.root)],
    ["unknown", () => fillApp(tree.root, { bundles: { [DESKTOP]: "export{};" } })],
    ["interrupted", stopHalfWay],
  ])("%s", async (state, prepare) => {
    await prepare();
    const before = snapshot(tree.folder);
    const status = statusOf(hostOf(tree), tree.root);
    expect(status).toMatchObject({ root: tree.root, state, explanation: expect.stringMatching(/\S/) });
    expect(snapshot(tree.folder)).toEqual(before);
  });

  it("an interrupted app is only looked at by a preview, and finished by what changes it", async () => {
    const before = snapshot(tree.root);
    await stopHalfWay();
    expect(() => previewPatch(hostOf(tree), tree.root)).toThrow(expect.objectContaining({ code: "ide_interrupted" }));
    const host = hostOf(tree);
    expect(await restoreApp(host, tree.root)).toMatchObject({ type: "restored" });
    expect(host.steps).toContain("finishing what was interrupted");
    expect(snapshot(tree.root)).toEqual(before);
  });

  it("a damaged journal stops everything, with what to do", async () => {
    mkdirSync(join(tree.home, "ide"), { recursive: true });
    writeFileSync(join(tree.home, "ide/journal.json"), "{");
    const before = snapshot(tree.root);
    await expect(patch()).rejects.toMatchObject({ code: "ide_bad_journal", hint: expect.stringContaining("delete") });
    expect(snapshot(tree.root)).toEqual(before);
  });
});

describe("examine", () => {
  const levels = async (host: IdeHost) =>
    Object.fromEntries((await examine(host, tree.root)).map(({ id, level }) => [id, level]));

  it("sees what stands in the way", async () => {
    const running = { processes: () => [{ pid: 7, program: join(tree.folder, "cursor/cursor") }] };
    expect(await levels(hostOf(tree, running))).toMatchObject({ running: "warn", rights: "ok", app: "ok" });
    await patch();
    rmSync(join(tree.home, "ide/backups"), { recursive: true });
    expect(await levels(hostOf(tree))).toMatchObject({ backup: "fail", checksums: "ok" });
    fillApp(tree.root, { bundles: { [DESKTOP]: cursorBundle("3.2.0").repeat(2) } });
    expect(await levels(hostOf(tree))).toMatchObject({ [`out/vs/workbench/${DESKTOP}`]: "fail" });
  });

  it("shows what is new in a method, for a report", async () => {
    const adapter = cursorBundle("3.2.0").replace("handleTextDelta(n){if", "handleTextDelta({text:n}){if");
    fillApp(tree.root, { bundles: { [DESKTOP]: adapter } });
    const check = (await examine(hostOf(tree), tree.root)).find(({ id }) => id.endsWith(DESKTOP));
    expect(check).toMatchObject({ level: "fail", text: expect.stringContaining("first parameter of handleTextDelta") });
    expect(check?.fix).toMatch(/^Report it with this text: handleTextDelta\(\{text:n\}\)\{if.{172}$/s);
  });

  it("says that another tool's patch can be replaced", async () => {
    patchAsSeed(tree.root);
    expect(await levels(hostOf(tree))).toMatchObject({ [`out/vs/workbench/${DESKTOP}`]: "warn", leftovers: "warn" });
  });

  it("asks macOS for seal and quarantine, and changes neither", async () => {
    const calls: string[] = [];
    const machine = { platform: "darwin", environment: {}, userHome: "/Users/x" } as const;
    const run = async (command: string, args: readonly string[]) => {
      calls.push(`${command} ${args.slice(0, -1).join(" ")}`);
      return { code: command === "codesign" ? 1 : 0, output: "" };
    };
    expect(await levels(hostOf(tree, { machine, run }))).toMatchObject({ signature: "warn", quarantine: "warn" });
    expect(calls).toEqual(["codesign --verify --deep --strict", "xattr -p com.apple.quarantine"]);
  });
});

describe("removedPatches", () => {
  const removed = () => removedPatches(fs, tree.home);

  it("names an app whose update has removed the patch, until it is patched again", async () => {
    expect(removed()).toEqual([]);
    await patch();
    expect(removed()).toEqual([]);
    fillApp(tree.root, { version: "3.22.5" });
    expect(removed()).toEqual([expect.stringContaining(`Cursor to 3.22.5 has removed the patch from ${tree.root}`)]);
    await patch();
    expect(removed()).toEqual([]);
  });

  it("is silent about an app that is gone, and about records that cannot be read", async () => {
    await patch();
    rmSync(tree.root, { recursive: true });
    expect(removed()).toEqual([]);
    for (const name of readdirSync(join(tree.home, "ide/records")))
      writeFileSync(join(tree.home, "ide/records", name), "{");
    expect(removed()).toEqual([]);
  });
});
