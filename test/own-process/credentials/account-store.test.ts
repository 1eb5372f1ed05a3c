import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { createAccountStore } from "../../../src/credentials/account-store.ts";
import type { Keychain } from "../../../src/credentials/keychain.ts";
import { formatSeed, type Login, parseSeed } from "../../../src/credentials/login.ts";
import { aKeychain } from "../../credentials/support/a-keychain.ts";
import { makeHome } from "../../credentials/support/accounts-stage.ts";

const ORIGIN = "https://api2.cursor.sh";

const aLogin = (mark: string, apiKey?: string): Login => ({
  access: new Secret(`access-${mark}`),
  refresh: new Secret(`refresh-${mark}`),
  apiKey: apiKey === undefined ? undefined : new Secret(apiKey),
});

function open(home = makeHome(), keychain?: Keychain) {
  const notices: string[] = [];
  const store = createAccountStore({ home, keychain, onNotice: (text) => notices.push(text) });
  const save = (name: string, login: Login) => store.lock.run(() => store.write({ name, origin: ORIGIN, login }));
  const read = async (name: string) => {
    const login = (await store.read(name))?.login;
    return login && [login.access?.reveal(), login.refresh?.reveal(), login.apiKey?.reveal()];
  };
  return { home, store, notices, save, read };
}

describe("the file", () => {
  it("keeps accounts by name, for its owner alone whatever the umask, in the form that plugins know", async () => {
    const before = process.umask(0);
    const { store, save, read } = open();
    await save("default", aLogin("a"));
    await save("work", aLogin("b", "key"));
    process.umask(before);
    expect(await read("default")).toEqual(["access-a", "refresh-a", undefined]);
    expect(await read("work")).toEqual(["access-b", "refresh-b", "key"]);
    expect(await read("nobody")).toBeUndefined();
    expect(store.list().map(({ name }) => name)).toEqual(["default", "work"]);
    expect(JSON.parse(readFileSync(store.path, "utf8"))).toMatchObject({
      accounts: { default: { refresh: "refresh-a" }, work: { refresh: "refresh-b|key", access: "access-b" } },
    });
    for (const path of [store.path, `${store.path}.previous`]) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("that is cut off anywhere is made good by the one before, or called damaged (REL-52)", async () => {
    const { store, save, read, notices } = open();
    await save("default", aLogin("old"));
    await save("default", aLogin("new"));
    const [whole, previous] = [store.path, `${store.path}.previous`].map((path) => readFileSync(path, "utf8"));
    for (let length = 0; length < (whole?.length ?? 0) - 2; length += 16) {
      writeFileSync(store.path, whole?.slice(0, length) ?? "");
      expect(await read("default")).toEqual(["access-old", "refresh-old", undefined]);
      expect(notices.pop()).toContain("is damaged");
    }
    for (const text of ["null", "[]", '{"version":1}', '{"version":1,"accounts":{"x":{"kept":"nowhere"}}}']) {
      writeFileSync(store.path, text);
      writeFileSync(`${store.path}.previous`, text);
      await expect(store.read("default")).rejects.toMatchObject({ code: "accounts_damaged" });
    }
    writeFileSync(`${store.path}.previous`, previous ?? "");
    await save("default", aLogin("newer"));
    expect(await read("default")).toEqual(["access-newer", "refresh-newer", undefined]);
  });

  it("that others may read is refused, and tells the remedy", async () => {
    const { store, save } = open();
    await save("default", aLogin("a"));
    chmodSync(store.path, 0o640);
    await expect(store.read("default")).rejects.toMatchObject({ hint: `Run: chmod 600 '${store.path}'` });
  });

  it("is never written through a link that somebody planted (SEC-11)", async () => {
    const { home, store, save } = open();
    const elsewhere = join(makeHome(), "victim");
    writeFileSync(elsewhere, "untouched", { mode: 0o600 });
    symlinkSync(elsewhere, `${store.path}.previous`);
    await save("default", aLogin("a"));
    await save("default", aLogin("b"));
    expect(readFileSync(elsewhere, "utf8")).toBe("untouched");
    expect(lstatSync(join(home, "accounts.json")).isFile()).toBe(true);
  });

  it("has nothing of an account after it was signed out, nor has the one before", async () => {
    const { store, save } = open();
    await save("default", aLogin("a"));
    await save("work", aLogin("b"));
    expect(await store.lock.run(() => store.remove("default"))).toBe(true);
    expect(await store.lock.run(() => store.remove("default"))).toBe(false);
    expect(readFileSync(store.path, "utf8")).not.toMatch(/-a"/);
    expect(existsSync(`${store.path}.previous`)).toBe(false);
  });
});

describe("the keychain", () => {
  it("has the secrets, and the file has none", async () => {
    const { keychain, entries } = aKeychain();
    const { store, save, read } = open(makeHome(), keychain);
    expect(await save("default", aLogin("a", "key"))).toBe("keychain");
    expect(await read("default")).toEqual(["access-a", "refresh-a", "key"]);
    expect(readFileSync(store.path, "utf8")).not.toMatch(/access-|refresh-|key"/);
    await store.lock.run(() => store.remove("default"));
    expect(entries.size).toBe(0);
  });

  it("is one for all homes, and does not mix them up", async () => {
    const { keychain } = aKeychain();
    const [one, other] = [open(makeHome(), keychain), open(makeHome(), keychain)];
    await one.save("default", aLogin("one"));
    await other.save("default", aLogin("other"));
    expect(await one.read("default")).toEqual(["access-one", "refresh-one", undefined]);
  });

  it("that is locked says so when it is read, and the file takes its place when it is written", async () => {
    const { keychain, state } = aKeychain();
    const { save, read, notices } = open(makeHome(), keychain);
    await save("default", aLogin("a"));
    state.isLocked = true;
    await expect(read("default")).rejects.toThrow("The keychain is locked.");
    expect(await save("default", aLogin("b"))).toBe("file");
    expect(notices).toEqual([
      expect.stringMatching(/^The keychain is locked\. The login is stored in .*accounts\.json/),
    ]);
    expect(await read("default")).toEqual(["access-b", "refresh-b", undefined]);
  });

  it("with garbage in it is an account without a login", async () => {
    const { keychain, entries } = aKeychain();
    const { save, read } = open(makeHome(), keychain);
    await save("default", aLogin("a"));
    for (const text of ["{", "null", "17", '{"access":1}']) {
      for (const name of entries.keys()) entries.set(name, text);
      expect(await read("default")).toEqual([undefined, undefined, undefined]);
    }
  });

  const hasOne = ["dbus-run-session", "gnome-keyring-daemon"].every((name) => spawnSync("which", [name]).status === 0);

  it.skipIf(!hasOne)("of this system keeps and forgets a login", () => {
    const home = makeHome();
    const script = `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
      exec '${process.execPath}' test/credentials/support/use-keychain.ts`;
    const { stdout, stderr } = spawnSync("dbus-run-session", ["--", "sh", "-c", script], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });
    expect(stdout, stderr).toBe('["undefined","some text","undefined"]\n');
  });
});

it.each([
  ["refresh", "refresh", undefined],
  ["refresh|key", "refresh", "key"],
  ["refresh|", "refresh", undefined],
  ["|key", undefined, "key"],
  ["", undefined, undefined],
])("the form of plugins: %j", (text, refresh, apiKey) => {
  const parsed = parseSeed(text);
  expect([parsed.refresh?.reveal(), parsed.apiKey?.reveal()]).toEqual([refresh, apiKey]);
  expect(parseSeed(formatSeed({ access: undefined, ...parsed }))).toEqual(parsed);
});
