import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/load-config.ts";
import { homeFolder } from "../../../src/config/home.ts";
import { keyOf } from "../../../src/config/key-file.ts";

let folder = "";
const umask = process.umask();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-"));
});

afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true });
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const refusal = (message: string) =>
  expect.objectContaining({ message: expect.stringContaining(message), kind: "forbidden" });

describe("the key", () => {
  it.each([0o000, 0o022, 0o077])("is made on the first start, for its owner alone (umask %o)", (mask) => {
    process.umask(mask);
    const home = join(folder, "deep", "home");
    const key = keyOf(home).reveal();
    expect(key).toMatch(/^exc_[\w-]{43}$/);
    expect(modeOf(home)).toBe(0o700);
    expect(modeOf(join(home, "key"))).toBe(0o600);
    expect(readdirSync(home)).toEqual(["key"]);
    expect(keyOf(home).reveal()).toBe(key);
  });

  it("is never made over another one", () => {
    writeFileSync(join(folder, "key"), "a-key-of-my-own-making\n", { mode: 0o600 });
    expect(keyOf(folder).reveal()).toBe("a-key-of-my-own-making");
  });

  it.each([
    ["a file that others may read", () => writeFileSync(join(folder, "key"), "k", { mode: 0o644 }), "its mode is 0644"],
    [
      "a file that the group may write",
      () => {
        writeFileSync(join(folder, "key"), "k");
        chmodSync(join(folder, "key"), 0o620);
      },
      "its mode is 0620",
    ],
    ["a folder that others may look into", () => chmodSync(folder, 0o755), "its mode is 0755"],
  ])("is refused in %s", (_, prepare, message) => {
    prepare();
    expect(() => keyOf(folder)).toThrow(refusal(message));
  });

  it("is refused where another user owns it", () => {
    const getuid = process.getuid;
    process.getuid = () => 12_345;
    try {
      expect(() => keyOf(folder)).toThrow(refusal("belongs to another user"));
    } finally {
      if (getuid) process.getuid = getuid;
    }
  });

  it("an empty file is named, and a weak key refused (A7)", () => {
    writeFileSync(join(folder, "key"), "x\n", { mode: 0o600 });
    expect(() => keyOf(folder)).toThrow(expect.objectContaining({ kind: "config", code: "weak_key" }));
    writeFileSync(join(folder, "key"), "\n", { mode: 0o600 });
    expect(() => keyOf(folder)).toThrow(expect.objectContaining({ kind: "config", code: "bad_key_file" }));
  });

  it("a link that leads nowhere is not followed into being", () => {
    symlinkSync(join(folder, "elsewhere"), join(folder, "key"));
    expect(() => keyOf(folder)).toThrow();
    expect(readdirSync(folder)).toEqual(["key"]);
  });

  it("a folder that cannot be made is named", () => {
    writeFileSync(join(folder, "file"), "");
    expect(() => keyOf(join(folder, "file", "home"))).toThrow(refusal("Cannot create the folder"));
  });

  it.runIf(process.platform === "linux")("a folder that takes none is not tried for ever", () => {
    expect(() => keyOf("/proc/excursor/home")).toThrow(refusal("Cannot create the folder"));
  });
});

describe("the config file", () => {
  const write = (content: object, mode: number) => {
    writeFileSync(join(folder, "config.json"), JSON.stringify(content));
    chmodSync(join(folder, "config.json"), mode);
  };
  const load = () => loadConfig({ flags: {}, environment: { EXCURSOR_HOME: folder } });

  it.each([
    [{ port: 1 }, 0o644, true],
    [{ port: 1 }, 0o664, false],
    [{ token: "secret-token" }, 0o600, true],
    [{ token: "secret-token" }, 0o640, false],
  ])("%j with mode %o is read: %s", (content, mode, isRead) => {
    write(content, mode);
    if (isRead) expect(load().home).toBe(folder);
    else
      expect(load).toThrow(expect.objectContaining({ kind: "forbidden", hint: expect.stringContaining("chmod 600") }));
  });
});

describe("the folder", () => {
  it.skipIf(process.platform !== "linux")("is where this system keeps such things, or where one says", () => {
    expect(homeFolder({})).toBe(join(homedir(), ".config", "excursor"));
    expect(homeFolder({ XDG_CONFIG_HOME: "/x" })).toBe("/x/excursor");
    expect(homeFolder({ EXCURSOR_HOME: "/y", XDG_CONFIG_HOME: "/x" })).toBe("/y");
  });

  it("need not be there to read the settings, and is not made by that", () => {
    const home = join(folder, "none");
    expect(loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } }).values.port).toBe(8787);
    expect(readdirSync(folder)).toEqual([]);
  });
});
