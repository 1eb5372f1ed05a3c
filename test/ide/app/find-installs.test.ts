import fs, { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileSystem } from "../../../src/files/file-system.ts";
import { findInstalls, openInstall } from "../../../src/ide/app/find-installs.ts";
import { appFolders, installPlaces, type Machine } from "../../../src/ide/app/install-places.ts";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "excursor-find-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

const linux = (): Machine => ({ platform: "linux", environment: {}, userHome: folder });

function makeApp(path: string): string {
  const root = join(folder, path);
  mkdirSync(join(root, "out"), { recursive: true });
  writeFileSync(join(root, "product.json"), "{}");
  return root;
}

/** A disk that has just these product.json. */
function diskWith(...roots: readonly string[]): FileSystem {
  const separator = roots[0]?.includes("\\") ? "\\" : "/";
  return {
    ...fs,
    existsSync: (path: unknown) => roots.some((root) => `${root}${separator}product.json` === path),
    readdirSync: ((path: string) =>
      roots
        .filter((root) => root.startsWith(`${path}${separator}`))
        .map((root) => root.slice(path.length + 1).split(separator)[0])) as never,
    realpathSync: ((path: string) => path) as never,
  } as FileSystem;
}

const found = (machine: Machine, files: FileSystem) => findInstalls(files, machine).map(({ root }) => root);

describe("findInstalls", () => {
  it("macOS: for all and for the user", () => {
    const machine: Machine = { platform: "darwin", environment: {}, userHome: "/Users/me" };
    const roots = [
      "/Applications/Cursor.app/Contents/Resources/app",
      "/Users/me/Applications/Cursor.app/Contents/Resources/app",
    ];
    expect(found(machine, diskWith(...roots))).toEqual(roots);
  });

  it("Windows: user, system, versioned, scoop", () => {
    const machine: Machine = {
      platform: "win32",
      environment: {
        LOCALAPPDATA: "C:\\Users\\me\\AppData\\Local",
        ProgramFiles: "C:\\Program Files",
        USERPROFILE: "C:\\Users\\me",
      },
      userHome: "C:\\Users\\me",
    };
    const roots = [
      "C:\\Users\\me\\AppData\\Local\\Programs\\cursor\\resources\\app",
      "C:\\Users\\me\\AppData\\Local\\Programs\\cursor\\0123456789\\resources\\app",
      "C:\\Program Files\\cursor\\resources\\app",
      "C:\\Users\\me\\scoop\\apps\\cursor\\current\\resources\\app",
    ];
    expect(found(machine, diskWith(...roots))).toEqual(roots);
  });

  it("Linux: packages", () => {
    const roots = ["/usr/share/cursor/resources/app", "/opt/Cursor/resources/app"];
    expect(found({ platform: "linux", environment: {}, userHome: "/home/me" }, diskWith(...roots))).toEqual(roots);
  });

  it("Linux: the user's own, unpacked images, each once, and what cannot be patched with the reason", () => {
    const own = makeApp(".local/share/cursor/resources/app");
    const unpacked = makeApp("Applications/squashfs-root/usr/share/cursor/resources/app");
    symlinkSync(join(folder, ".local/share/cursor"), join(folder, "squashfs-root"));
    writeFileSync(join(folder, "Applications/Cursor-3.2.0-x86_64.AppImage"), "");
    mkdirSync(join(folder, ".cursor-server"));
    const installs = findInstalls(fs, linux());
    expect(installs.filter(({ refused }) => !refused).map(({ root }) => root)).toEqual([own, unpacked]);
    expect(installs.flatMap(({ refused }) => refused?.why ?? [])).toEqual([
      expect.stringContaining("AppImage"),
      expect.stringContaining("remote work"),
    ]);
  });

  it("nothing, where there is nothing", () => {
    expect(
      findInstalls(fs, { ...linux(), userHome: join(folder, "none") }).filter(({ root }) => root.startsWith(folder)),
    ).toEqual([]);
  });

  it("looks only into folders named after a build", () => {
    expect(appFolders(linux(), "/x", () => ["0123456789", "bin", "0123", "0123456789abcdefg"])).toContain(
      "/x/0123456789/resources/app",
    );
    expect(appFolders(linux(), "/x", () => ["bin"]).filter((path) => path.includes("bin"))).toEqual([]);
    expect(new Set(installPlaces(linux())).size).toBe(installPlaces(linux()).length);
  });
});

describe("openInstall", () => {
  it.each([
    "resources/app",
    "Contents/Resources/app",
    "usr/share/cursor/resources/app",
    "0123456789/resources/app",
    "",
  ])("takes a folder whose app is in %j, and the app itself", (below) => {
    const root = makeApp(join("place", below));
    expect(openInstall(fs, linux(), join(folder, "place"))).toBe(root);
    expect(openInstall(fs, linux(), root)).toBe(root);
  });

  it("follows a link to the app itself", () => {
    const root = makeApp("real/resources/app");
    symlinkSync(join(folder, "real"), join(folder, "current"));
    expect(openInstall(fs, linux(), join(folder, "current"))).toBe(root);
  });

  it.each<[string, string, string, () => void]>([
    ["nothing", "none", "ide_no_app", () => {}],
    ["a folder of something else", "other", "ide_no_app", () => mkdirSync(join(folder, "other"))],
    ["an AppImage", "Cursor.AppImage", "ide_refused_place", () => writeFileSync(join(folder, "Cursor.AppImage"), "")],
    [
      "a mounted AppImage",
      ".mount_CursorX/usr",
      "ide_refused_place",
      () => mkdirSync(join(folder, ".mount_CursorX/usr"), { recursive: true }),
    ],
    ["the server", ".cursor-server/bin/x", "ide_refused_place", () => void makeApp(".cursor-server/bin/x")],
    [
      "a link to the server",
      "link",
      "ide_refused_place",
      () => symlinkSync(makeApp(".cursor-server/bin/y"), join(folder, "link")),
    ],
    [
      "two apps",
      "two",
      "ide_several_apps",
      () => {
        makeApp("two/0123456789/resources/app");
        makeApp("two/abcdef0123/resources/app");
      },
    ],
  ])("refuses %s with what to do", (_, path, code, prepare) => {
    prepare();
    expect(() => openInstall(fs, linux(), join(folder, path))).toThrow(
      expect.objectContaining({ code, hint: expect.stringMatching(/\S/) }),
    );
  });
});
