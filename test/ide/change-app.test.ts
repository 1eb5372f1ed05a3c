import { spawnSync } from "node:child_process";
import fs, {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import type { ExcursorError } from "../../src/core/errors.ts";
import { patchApp, previewPatch, restoreApp } from "../../src/ide/change-app.ts";
import { systemHost } from "../../src/ide/host.ts";
import { PATCH_ID } from "../../src/ide/patch/edit.ts";
import {
  type AppTree,
  type AppTreeOptions,
  bundlePath,
  DESKTOP,
  fillApp,
  GLASS,
  hostOf,
  isPure,
  makeApp,
  md5,
  patchAsSeed,
  sha256,
  snapshot,
} from "./support/app-tree.ts";
import { cursorBundle, VERSIONS } from "./support/cursor-bundles.ts";
import { pretendOlder } from "./support/pretend-older.ts";

const trees: AppTree[] = [];
const make = (options?: AppTreeOptions) => {
  const tree = makeApp(options);
  trees.push(tree);
  return tree;
};
afterEach(() => {
  for (const { folder } of trees.splice(0)) rmSync(folder, { recursive: true });
});

const patch = (tree: AppTree, changes?: Parameters<typeof hostOf>[1]) =>
  patchApp(hostOf(tree, changes), tree.root, { resign: false });
const restore = (tree: AppTree, changes?: Parameters<typeof hostOf>[1]) => restoreApp(hostOf(tree, changes), tree.root);

/** Runs something that must be refused, and that nothing of the app or of the backups has changed. */
async function refused(
  tree: AppTree,
  work: () => Promise<unknown>,
): Promise<{ kind: string; code: string; exit: number }> {
  const before = snapshot(tree.folder);
  const error = await work().then(
    () => expect.fail("it should have been refused"),
    (thrown: ExcursorError) => thrown,
  );
  expect(snapshot(tree.folder)).toEqual(before);
  expect(error.message).toMatch(/^[^ ].*\.$/s);
  expect(error.hint).toBeTruthy();
  return { kind: error.kind, code: error.code, exit: exitCodeOf(error.kind) };
}

describe("patch and restore", () => {
  it.each(VERSIONS)("%s: pure after both, and byte-identical at the end", async (version) => {
    const tree = make({ version });
    const before = snapshot(tree.root);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
    expect(isPure(tree.root)).toBe(true);
    for (const name of [DESKTOP, GLASS]) {
      expect(readFileSync(bundlePath(tree.root, name), "utf8")).toContain(`excursor-think ${PATCH_ID}`);
    }
    expect(await restore(tree)).toMatchObject({ type: "restored", isResigned: false });
    expect(isPure(tree.root)).toBe(true);
    expect(snapshot(tree.root)).toEqual(before);
    expect(readdirSync(join(tree.home, "ide/backups"))).toEqual([]);
  });

  it("the real syntax check passes, and stops what would not run", async () => {
    const tree = make();
    const run = systemHost(hostOf(tree)).run;
    const before = snapshot(tree.root);
    const failing = hostOf(tree, { run: async () => ({ code: 1, output: "x\nSyntaxError: Unexpected token '}'\n" }) });
    await expect(patchApp(failing, tree.root, { resign: false })).rejects.toMatchObject({
      code: "ide_bad_syntax",
      message: expect.stringContaining("Unexpected token"),
    });
    expect(snapshot(tree.root)).toEqual(before);
    expect(await patch(tree, { run })).toMatchObject({ type: "patched" });
  });

  it("twice is once (REL-56)", async () => {
    const tree = make();
    await patch(tree);
    const once = snapshot(tree.folder);
    expect(await patch(tree)).toEqual({ type: "already", patchId: PATCH_ID });
    expect(snapshot(tree.folder)).toEqual(once);
    await restore(tree);
    expect(await restore(tree)).toEqual({ type: "nothing", why: "pristine" });
  });

  it("only the hash in product.json changes; its form stays", async () => {
    const tree = make();
    const path = join(tree.root, "product.json");
    const odd = readFileSync(path, "utf8").replace('"quality":', () => '"ünïcode" :  "$& $1 \\u00e9" ,\r\n"quality":');
    writeFileSync(path, odd);
    const [old] = /"[^"]+"(?=,?\n.*workbench\.html)/.exec(odd) ?? [];
    await patch(tree);
    const fresh = JSON.stringify(sha256(readFileSync(bundlePath(tree.root, DESKTOP))));
    expect(readFileSync(path, "utf8")).toBe(odd.replace(old ?? "", () => fresh));
  });

  it("the hash is the one that openssl makes", async () => {
    const tree = make();
    await patch(tree);
    const script = `openssl dgst -sha256 -binary '${bundlePath(tree.root, DESKTOP)}' | base64 -w0 | tr -d =`;
    const { stdout, status } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    if (status !== 0 || stdout === "") return;
    expect(readFileSync(join(tree.root, "product.json"), "utf8")).toContain(JSON.stringify(stdout));
  });

  it.each<[string, AppTreeOptions]>([
    ["MD5, as older builds have it", { checksum: md5 }],
    ["no checksums", { checksum: null }],
    ["one bundle", { bundles: { [DESKTOP]: cursorBundle("2.5.17") }, version: "2.5.17" }],
    ["the class in one of two bundles", { bundles: { [DESKTOP]: "export{};\n", [GLASS]: cursorBundle("3.22.5") } }],
  ])("works with %s", async (_, options) => {
    const tree = make(options);
    const before = snapshot(tree.root);
    await patch(tree);
    expect(isPure(tree.root)).toBe(true);
    expect(snapshot(tree.root)).not.toEqual(before);
    await restore(tree);
    expect(snapshot(tree.root)).toEqual(before);
  });

  it("modes stay", async () => {
    const tree = make();
    chmodSync(bundlePath(tree.root, DESKTOP), 0o640);
    await patch(tree);
    expect(statSync(bundlePath(tree.root, DESKTOP)).mode & 0o777).toBe(0o640);
    await restore(tree);
    expect(statSync(bundlePath(tree.root, DESKTOP)).mode & 0o777).toBe(0o640);
  });

  it("an older patch of ours gives way to the new one, and restore still finds the originals", async () => {
    const tree = make();
    const before = snapshot(tree.root);
    await patch(tree);
    pretendOlder(tree);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
    expect(readFileSync(bundlePath(tree.root, DESKTOP), "utf8")).toContain(`excursor-think ${PATCH_ID}`);
    expect(isPure(tree.root)).toBe(true);
    await restore(tree);
    expect(snapshot(tree.root)).toEqual(before);
  });

  it("after an update: nothing to restore, and patch works again by itself", async () => {
    const tree = make({ version: "3.0.12" });
    await patch(tree);
    fillApp(tree.root, { version: "3.2.0" });
    const updated = snapshot(tree.root);
    expect(await restore(tree)).toEqual({ type: "nothing", why: "updated" });
    expect(snapshot(tree.root)).toEqual(updated);
    await patch(tree);
    fillApp(tree.root, { version: "3.22.5" });
    const again = snapshot(tree.root);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
    expect(readdirSync(join(tree.home, "ide/backups"))).toHaveLength(1);
    await restore(tree);
    expect(snapshot(tree.root)).toEqual(again);
  });

  it("a preview says the exact edit and writes nothing", async () => {
    const tree = make();
    const before = snapshot(tree.folder);
    const plan = previewPatch(hostOf(tree), tree.root);
    expect(snapshot(tree.folder)).toEqual(before);
    expect(plan?.edits.map(({ path, insertions }) => [path, insertions.length])).toEqual([
      ["out/vs/workbench/workbench.desktop.main.js", 4],
      ["out/vs/workbench/workbench.glass.main.js", 4],
    ]);
    await patch(tree);
    const product = readFileSync(join(tree.root, "product.json"), "utf8");
    for (const { after } of plan?.checksums ?? []) expect(product).toContain(after);
    expect(plan?.checksums).toHaveLength(1);
  });

  it("tells each step", async () => {
    const tree = make();
    const host = hostOf(tree);
    await patchApp(host, tree.root, { resign: false });
    expect(host.steps).toEqual([
      "reading the app",
      "finding the class that shows answers",
      "backing up the files",
      "writing the new files",
      "checking the syntax in a separate process",
    ]);
  });
});

describe("what is refused, with nothing changed", () => {
  const product = (tree: AppTree) => join(tree.root, "product.json");
  const desktop = (tree: AppTree) => bundlePath(tree.root, DESKTOP);
  it.each<[string, (tree: AppTree) => void, string, number]>([
    ["no product.json", (tree) => rmSync(product(tree)), "ide_no_app", 65],
    ["broken JSON", (tree) => writeFileSync(product(tree), "{"), "ide_bad_product", 65],
    ["an empty product.json", (tree) => writeFileSync(product(tree), ""), "ide_bad_product", 65],
    ["JSON that is no object", (tree) => writeFileSync(product(tree), "[]"), "ide_bad_product", 65],
    [
      "a byte order mark",
      (tree) => writeFileSync(product(tree), `\ufeff${readFileSync(product(tree), "utf8")}`),
      "ide_bad_product",
      65,
    ],
    [
      "a product that is not UTF-8",
      (tree) => appendFileSync(product(tree), Buffer.from([0xff])),
      "ide_bad_product",
      65,
    ],
    [
      "a product without a version",
      (tree) => writeFileSync(product(tree), '{"nameShort":"Cursor"}'),
      "ide_bad_product",
      65,
    ],
    [
      "checksums of files elsewhere",
      (tree) => writeFileSync(product(tree), '{"nameShort":"Cursor","version":"1","checksums":{"../../x":"a"}}'),
      "ide_bad_product",
      65,
    ],
    [
      "checksums that are no texts",
      (tree) => writeFileSync(product(tree), '{"nameShort":"Cursor","version":"1","checksums":{"x":1}}'),
      "ide_bad_product",
      65,
    ],
    [
      "checksums named twice",
      (tree) =>
        writeFileSync(
          product(tree),
          readFileSync(product(tree), "utf8").replace('"quality"', '"checksums":{},"quality"'),
        ),
      "ide_bad_product",
      65,
    ],
    [
      "another editor",
      (tree) => writeFileSync(product(tree), '{"nameShort":"Code","version":"1.100.0"}'),
      "ide_no_app",
      65,
    ],
    ["no workbench", (tree) => rmSync(join(tree.root, "out/vs/workbench"), { recursive: true }), "ide_no_app", 65],
    ["no match", (tree) => fillApp(tree.root, { bundles: { [DESKTOP]: "export{};\n" } }), "ide_unknown", 65],
    [
      "two matches",
      (tree) => fillApp(tree.root, { bundles: { [DESKTOP]: cursorBundle("3.2.0") + cursorBundle("2.6.11") } }),
      "ide_unknown",
      65,
    ],
    [
      "a match, and two in the other bundle",
      (tree) =>
        fillApp(tree.root, { bundles: { [DESKTOP]: cursorBundle("3.2.0"), [GLASS]: cursorBundle("3.2.0").repeat(2) } }),
      "ide_unknown",
      65,
    ],
    [
      "another patch",
      (tree) => fillApp(tree.root, { bundles: { [DESKTOP]: `${cursorBundle("3.2.0")};__thinkTagState` } }),
      "ide_foreign",
      65,
    ],
    ["a bundle changed without its checksum", (tree) => appendFileSync(desktop(tree), ";"), "ide_foreign", 65],
    [
      "another checked file changed",
      (tree) => appendFileSync(join(tree.root, "out/vs/code/electron-sandbox/workbench/workbench.html"), ";"),
      "ide_foreign",
      65,
    ],
    [
      "a checked file missing",
      (tree) => rmSync(join(tree.root, "out/vs/code/electron-sandbox/workbench/workbench.html")),
      "ide_foreign",
      65,
    ],
    [
      "checksums of a kind that nobody knows",
      (tree) => fillApp(tree.root, { checksum: (bytes) => `x${sha256(bytes).slice(1)}` }),
      "ide_foreign",
      65,
    ],
    [
      "a symlinked bundle",
      (tree) => moveAndLink(desktop(tree), `${tree.folder}/elsewhere.js`),
      "ide_unsafe_target",
      77,
    ],
    [
      "a symlinked product.json",
      (tree) => moveAndLink(product(tree), `${tree.folder}/elsewhere.json`),
      "ide_unsafe_target",
      77,
    ],
    [
      "a symlinked folder on the way",
      (tree) => moveAndLink(join(tree.root, "out/vs"), `${tree.folder}/vs`),
      "ide_unsafe_target",
      77,
    ],
    [
      "a bundle with a second name",
      (tree) => linkSync(desktop(tree), `${tree.folder}/second.js`),
      "ide_unsafe_target",
      77,
    ],
    [
      "a folder that everybody may write to",
      (tree) => chmodSync(join(tree.root, "out/vs/workbench"), 0o777),
      "ide_unsafe_target",
      77,
    ],
    [
      "a bundle that is a folder",
      (tree) => {
        rmSync(desktop(tree));
        mkdirSync(desktop(tree));
      },
      "ide_unsafe_target",
      77,
    ],
  ])("%s", async (_, spoil, code, exit) => {
    const tree = make();
    spoil(tree);
    expect(await refused(tree, () => patch(tree))).toMatchObject({ code, exit });
    expect(await refused(tree, async () => previewPatch(hostOf(tree), tree.root))).toMatchObject({ code, exit });
  });

  it("the app runs, or its updater", async () => {
    const tree = make();
    const program = join(tree.folder, "cursor", "cursor");
    for (const running of [
      program,
      "/Library/Caches/com.todesktop.x.ShipIt/ShipIt",
      "Cursor.exe",
      "inno_updater.exe",
    ]) {
      const processes = () => [
        { pid: 1, program: "/sbin/init" },
        { pid: 4711, program: running },
      ];
      for (const act of [patch, restore]) {
        expect(await refused(tree, () => act(tree, { processes }))).toEqual({
          kind: "busy",
          code: "ide_running",
          exit: 75,
        });
      }
    }
    const elsewhere = () => [{ pid: 4711, program: `${tree.folder}/cursor-other/cursor` }];
    expect(await patch(tree, { processes: elsewhere })).toMatchObject({ type: "patched" });
  });

  it.each<[string, string, string, number]>([
    ["no rights", "EACCES", "ide_no_rights", 77],
    ["no rights, as macOS says it", "EPERM", "ide_no_rights", 77],
    ["a read-only file system", "EROFS", "ide_read_only", 77],
  ])("%s", async (_, code, expected, exit) => {
    const tree = make();
    mkdirSync(join(tree.home, "ide"), { mode: 0o700 });
    const files = {
      ...fs,
      accessSync: (path: unknown) => {
        throw Object.assign(new Error(code), { code, path });
      },
    };
    for (const platform of ["linux", "darwin", "win32"] as const) {
      const host = hostOf(tree, { files });
      const changes = { files, machine: { ...host.machine, platform } };
      expect(await refused(tree, () => patch(tree, changes))).toMatchObject({ code: expected, exit });
    }
  });

  it("a second patcher at the same time", async () => {
    const tree = make();
    let second: Promise<unknown> | undefined;
    const host = hostOf(tree, {
      run: async () => {
        second = patch(tree).catch((error: { code: string }) => error.code);
        await second;
        return { code: 0, output: "" };
      },
    });
    await patchApp(host, tree.root, { resign: false });
    expect(await second).toBe("locked");
  });

  it("an app that is updated while it is patched keeps its update (REL-55)", async () => {
    const tree = make();
    const host = hostOf(tree, {
      run: async () => {
        fillApp(tree.root, { version: "3.22.5" });
        return { code: 0, output: "" };
      },
    });
    await expect(patchApp(host, tree.root, { resign: false })).rejects.toMatchObject({ code: "ide_changed_meanwhile" });
    expect(readFileSync(bundlePath(tree.root, DESKTOP), "utf8")).toBe(cursorBundle("3.22.5"));
    expect(readdirSync(join(tree.root, "out/vs/workbench")).sort()).toEqual([DESKTOP, GLASS]);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
  });
});

describe("an abort", () => {
  it("while the syntax is checked changes nothing", async () => {
    const tree = make();
    const before = snapshot(tree.root);
    const stop = new AbortController();
    const run = async () => {
      stop.abort();
      return { code: 127, output: "" };
    };
    await expect(patch(tree, { run, signal: stop.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(snapshot(tree.root)).toEqual(before);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
  });
});

describe("restore only puts back what we took", () => {
  it.each<[string, (tree: AppTree) => void, string]>([
    ["a bundle changed since", (tree) => appendFileSync(bundlePath(tree.root, DESKTOP), ";"), "ide_not_ours"],
    ["product.json changed since", (tree) => appendFileSync(join(tree.root, "product.json"), "\n"), "ide_not_ours"],
    [
      "one file of an update",
      (tree) => writeFileSync(bundlePath(tree.root, GLASS), cursorBundle("3.0.12")),
      "ide_not_ours",
    ],
    ["a damaged backup", (tree) => damage(join(tree.home, "ide/backups")), "ide_bad_backup"],
    ["no backup", (tree) => rmSync(join(tree.home, "ide/backups"), { recursive: true }), "ide_bad_backup"],
    ["a damaged record", (tree) => damage(join(tree.home, "ide/records")), "ide_not_ours"],
    ["no record", (tree) => rmSync(join(tree.home, "ide/records"), { recursive: true }), "ide_not_ours"],
  ])("%s: refused", async (_, spoil, code) => {
    const tree = make();
    await patch(tree);
    spoil(tree);
    expect(await refused(tree, () => restore(tree))).toMatchObject({ code });
  });

  it("every flipped byte of the record is seen (SEC-62)", async () => {
    const tree = make();
    await patch(tree);
    const [name = ""] = readdirSync(join(tree.home, "ide/records"));
    const path = join(tree.home, "ide/records", name);
    const text = readFileSync(path);
    for (let at = 0; at < text.length - 1; at += 17) {
      const flipped = Buffer.from(text);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      writeFileSync(path, flipped);
      await expect(restore(tree)).rejects.toMatchObject({ code: "ide_not_ours" });
    }
    writeFileSync(path, text);
    expect(await restore(tree)).toMatchObject({ type: "restored" });
  });
});

describe("signing on macOS", () => {
  const mac = (tree: AppTree, calls: string[], code = 0) =>
    hostOf(tree, {
      machine: { platform: "darwin", environment: {}, userHome: "/Users/x" },
      run: async (command, args) => {
        if (command === "codesign") calls.push(args.join(" "));
        return { code: command === "codesign" ? code : 0, output: "" };
      },
    });

  it("is done only when asked, and remembered", async () => {
    const tree = make();
    const calls: string[] = [];
    await patchApp(mac(tree, calls), tree.root, { resign: false });
    expect(calls).toEqual([]);
    await restore(tree);
    await patchApp(mac(tree, calls), tree.root, { resign: true });
    expect(calls).toEqual([
      expect.stringMatching(/^--force --deep --sign - --preserve-metadata=identifier,entitlements \//),
      expect.stringMatching(/^--verify --deep --strict \//),
    ]);
    expect(await restore(tree)).toMatchObject({ type: "restored", isResigned: true });
  });

  it("that fails says that the patch is done", async () => {
    const tree = make();
    await expect(patchApp(mac(tree, [], 1), tree.root, { resign: true })).rejects.toMatchObject({
      code: "ide_resign_failed",
      hint: expect.stringContaining("patch itself is done"),
    });
    expect(await restore(tree)).toMatchObject({ type: "restored", isResigned: true });
  });
});

function moveAndLink(path: string, target: string): void {
  renameSync(path, target);
  symlinkSync(target, path);
}

function damage(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  }
}

describe("the patch of another tool, with its backups", () => {
  /** The files of the app, without the backups of that tool. */
  const own = (tree: AppTree) => new Map([...snapshot(tree.root)].filter(([name]) => !name.endsWith(".backup")));

  it("is replaced by ours, and restore puts back what was before both", async () => {
    const [tree, clean] = [make(), make()];
    await patch(clean);
    const before = snapshot(tree.root);
    patchAsSeed(tree.root);
    expect(await patch(tree)).toMatchObject({ type: "patched" });
    expect(own(tree)).toEqual(own(clean));
    expect(await patch(tree)).toMatchObject({ type: "already" });
    expect(await restore(tree)).toMatchObject({ type: "restored" });
    expect(own(tree)).toEqual(before);
    expect(isPure(tree.root)).toBe(true);
  });

  it("is not restored by us: it is not ours", async () => {
    const tree = make();
    patchAsSeed(tree.root);
    expect((await refused(tree, () => restore(tree))).code).toBe("ide_not_ours");
  });

  const desktop = (tree: AppTree) => bundlePath(tree.root, DESKTOP);
  const product = (tree: AppTree) => join(tree.root, "product.json");
  const backup = (tree: AppTree) => `${desktop(tree)}.backup`;
  it.each<[string, (tree: AppTree) => void]>([
    ["no backup of the bundle", (tree) => rmSync(backup(tree))],
    ["no backup of product.json", (tree) => rmSync(`${product(tree)}.backup`)],
    ["a damaged backup", (tree) => appendFileSync(backup(tree), ";")],
    ["a linked backup", (tree) => moveAndLink(backup(tree), `${tree.folder}/elsewhere.js`)],
    [
      "backups of another build",
      (tree) => {
        const other = make({ version: "3.22.5" });
        for (const [from, to] of [
          [desktop(other), backup(tree)],
          [product(other), `${product(tree)}.backup`],
        ] as const)
          writeFileSync(to, readFileSync(from));
      },
    ],
    [
      "another change to product.json",
      (tree) => writeFileSync(product(tree), readFileSync(product(tree), "utf8").replace('"stable"', '"mine"')),
    ],
    [
      "the marks of a third tool",
      (tree) => writeFileSync(desktop(tree), `${readFileSync(desktop(tree), "utf8")};acpExtensionBridge`),
    ],
  ])("stays if there is %s (SEC-61)", async (_, change) => {
    const tree = make();
    patchAsSeed(tree.root);
    change(tree);
    expect((await refused(tree, () => patch(tree))).code).toBe("ide_foreign");
  });
});
