import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AppTree, bundlePath, DESKTOP, fillApp, isPure, makeApp, snapshot } from "../../ide/support/app-tree.ts";
import { excursor } from "../support/excursor.ts";

// Each of these starts many processes.
vi.setConfig({ testTimeout: 60_000 });

let tree: AppTree;
beforeEach(() => {
  tree = makeApp();
});
afterEach(() => rmSync(tree.folder, { recursive: true }));

const run = (...args: readonly string[]) =>
  excursor(["ide", ...args], { environment: { EXCURSOR_HOME: tree.home, HOME: tree.folder } }).exited;
const app = () => ["--app", tree.root];

describe("excursor ide", () => {
  it("patches and restores, and says each step and what came of it", async () => {
    const before = snapshot(tree.root);
    const pristine = await run("status", ...app());
    expect(pristine.stdout).toContain("Cursor 3.2.0: pristine");
    const patched = await run("patch", ...app());
    expect(patched).toMatchObject({
      code: 0,
      stdout: `Patched ${tree.root}. Restart Cursor for the change to take effect.\n`,
    });
    expect(patched.stderr.split("\n")).toContain("… checking the syntax in a separate process");
    expect(isPure(tree.root)).toBe(true);
    expect((await run("status", ...app())).stdout).toContain("Cursor 3.2.0: patched");
    expect((await run("patch", ...app())).stdout).toContain("is already patched");
    expect((await run("restore", "--dry-run", ...app())).stdout).toContain("workbench.glass.main.js");
    expect(await run("restore", ...app())).toMatchObject({ code: 0, stdout: expect.stringContaining("Restored") });
    expect((await run("restore", ...app())).stdout).toContain("nothing to restore");
    expect(snapshot(tree.root)).toEqual(before);
  });

  it("shows the exact edit and changes nothing", async () => {
    const before = snapshot(tree.folder);
    const { code, stdout } = await run("patch", "--dry-run", ...app());
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^@ byte \d+: a guard at the start of handleTextDelta \(\d+ bytes\)\n {2}….*handleTextDelta\(n\)\{\n\+ \/\*excursor-think [0-9a-f]{12}\*\/if\(__excursorThink\.text\(this,arguments\)\)return;/m,
    );
    expect(stdout).toMatch(/^- "vs\/workbench\/workbench\.desktop\.main\.js": ".{43}"\n\+ "vs/m);
    const json = JSON.parse((await run("patch", "--dry-run", "--json", ...app())).stdout) as {
      edits: { insertions: { at: number; text: string }[] }[];
    };
    expect(snapshot(tree.folder)).toEqual(before);
    const original = readFileSync(bundlePath(tree.root, DESKTOP), "utf8");
    let made = "";
    let from = 0;
    for (const { at, text } of json.edits[0]?.insertions ?? []) {
      made += original.slice(from, at) + text;
      from = at;
    }
    await run("patch", ...app());
    expect(readFileSync(bundlePath(tree.root, DESKTOP), "utf8")).toBe(made + original.slice(from));
  });

  it("prints JSON for scripts", async () => {
    expect(JSON.parse((await run("patch", "--json", ...app())).stdout)).toEqual({
      root: tree.root,
      outcome: "patched",
    });
    const [status] = JSON.parse((await run("status", "--json", ...app())).stdout) as object[];
    expect(status).toMatchObject({ root: tree.root, version: "3.2.0", state: "patched" });
    expect(JSON.parse((await run("restore", "--json", ...app())).stdout)).toEqual({
      root: tree.root,
      outcome: "restored",
    });
  });

  it("says what an update has done", async () => {
    await run("patch", ...app());
    fillApp(tree.root, { version: "3.22.5" });
    expect((await run("status", ...app())).stdout).toMatch(/3\.22\.5: updated\n.*\n.*updated after it was patched/);
    expect((await run("restore", ...app())).stdout).toContain("updated since");
    expect(await run("patch", ...app())).toMatchObject({ code: 0 });
  });

  it("doctor looks at everything, and its exit code says how it stands", async () => {
    const well = await run("doctor", "--json", ...app());
    expect(well.code).toBe(0);
    const { checks } = JSON.parse(well.stdout) as { checks: { id: string; level: string }[] };
    expect(checks.map(({ id }) => id)).toEqual([
      ...["app", "journal", "checksums", "out/vs/workbench/workbench.desktop.main.js"],
      ...["out/vs/workbench/workbench.glass.main.js", "backup", "rights", "running", "cache"],
    ]);
    writeFileSync(bundlePath(tree.root, `${DESKTOP}.backup`), "");
    const warned = await run("doctor", ...app());
    expect([warned.code, warned.stdout]).toEqual([1, expect.stringContaining("warn  leftovers")]);
    writeFileSync(bundlePath(tree.root, DESKTOP), "broken");
    expect(await run("doctor", ...app())).toMatchObject({
      code: 2,
      stdout: expect.stringContaining("fail  checksums"),
    });
    rmSync(join(tree.root, "product.json"));
    expect(await run("doctor", ...app())).toMatchObject({ code: 2, stdout: expect.stringContaining("fail  app") });
  });

  it("finds the one app of the user, and lets choose where there are two", async () => {
    const own = join(tree.folder, ".local/share/cursor/resources/app");
    fillApp(own, { version: "3.0.12" });
    expect((await run("status", "--json")).stdout).toContain(own);
    expect(await run("patch")).toMatchObject({ code: 0, stdout: expect.stringContaining(own) });
    fillApp(join(tree.folder, "squashfs-root/usr/share/cursor/resources/app"));
    const several = await run("patch");
    expect([several.code, several.stderr]).toEqual([78, expect.stringContaining("There are 2 Cursor apps")]);
  });

  it.each<[string, () => string, number, RegExp]>([
    ["a folder that is no app", () => tree.home, 65, /no Cursor app/],
    ["a path that is not there", () => join(tree.folder, "none"), 65, /this path does not exist/],
    ["no product.json", () => spoil(() => rmSync(join(tree.root, "product.json")), tree.root), 65, /no product\.json/],
    [
      "a packed app",
      () => spoil(() => writeFileSync(join(tree.folder, "x.AppImage"), ""), join(tree.folder, "x.AppImage")),
      69,
      /--appimage-extract/,
    ],
  ])("%s: one clear sentence", async (_, path, code, words) => {
    const outcome = await run("patch", "--app", path());
    expect([outcome.code, outcome.stdout]).toEqual([code, ""]);
    expect(outcome.stderr).toMatch(words);
    expect(outcome.stderr).not.toMatch(/\n\s+at /);
  });

  it("sees the app running, by its program", async () => {
    const program = join(tree.folder, "cursor", "cursor");
    copyFileSync("/bin/sleep", program);
    const child = spawn(program, ["60"]);
    await new Promise((resolve) => child.once("spawn", resolve));
    try {
      const before = snapshot(tree.folder);
      const outcome = await run("patch", ...app());
      expect([outcome.code, outcome.stderr]).toEqual([
        75,
        expect.stringContaining(`Cursor is running (process ${child.pid})`),
      ]);
      expect(snapshot(tree.folder)).toEqual(before);
    } finally {
      child.kill();
    }
  });

  /** Only root can be somebody else; and that one must be able to read the sources. */
  const nobody = { uid: 65_534, gid: 65_534 };
  const canBeNobody =
    process.getuid?.() === 0 && spawnSync(process.execPath, ["bin/excursor.js", "--version"], nobody).status === 0;
  it.skipIf(!canBeNobody)("no rights: said with the command that has them, and nothing is changed", () => {
    const before = snapshot(tree.root);
    chmodSync(tree.folder, 0o755);
    chownSync(tree.home, nobody.uid, nobody.gid);
    const outcome = spawnSync(process.execPath, ["bin/excursor.js", "ide", "patch", ...app()], {
      ...nobody,
      encoding: "utf8",
      env: { ...process.env, EXCURSOR_HOME: tree.home, HOME: tree.folder },
    });
    expect([outcome.status, outcome.stderr]).toEqual([
      77,
      expect.stringContaining(`sudo "$(command -v excursor)" ide patch --app '${tree.root}'`),
    ]);
    expect(snapshot(tree.root)).toEqual(before);
  });

  it("only macOS signs, and the price is told", async () => {
    const { code, stderr } = await run("patch", "--resign=adhoc", ...app());
    expect(stderr).toContain("no longer updates itself");
    expect([code, stderr]).toEqual([69, expect.stringContaining("--resign only works on macOS")]);
    expect((await run("status", ...app())).stdout).toContain("pristine");
  });

  it("refuses a home that others can look into", async () => {
    mkdirSync(join(tree.folder, "open"), { mode: 0o755 });
    const { code } = await excursor(["ide", "patch", ...app()], {
      environment: { EXCURSOR_HOME: join(tree.folder, "open") },
    }).exited;
    expect(code).toBe(77);
    expect(existsSync(join(tree.folder, "open/ide"))).toBe(false);
  });
});

function spoil(change: () => void, path: string): string {
  change();
  return path;
}
