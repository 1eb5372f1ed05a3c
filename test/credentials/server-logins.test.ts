import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { Keychain } from "../../src/credentials/keychain.ts";
import { createServerLogins } from "../../src/credentials/server-logins.ts";
import { aKeychain } from "./support/a-keychain.ts";
import { makeHome } from "./support/accounts-stage.ts";

const URL = "https://mcp.example/mcp";

function open(keychain?: Keychain, home = makeHome()) {
  const notices: string[] = [];
  const logins = createServerLogins({ home, keychain, onNotice: (text) => notices.push(text) });
  const save = (name: string, text: string) => logins.lock.run(() => logins.write(name, URL, new Secret(text)));
  const read = async (name: string, url = URL) => (await logins.read(name, url))?.reveal();
  return { home, logins, notices, save, read };
}

describe("sign-ins at servers", () => {
  it("are kept by name and address, for their owner alone", async () => {
    const { logins, save, read } = open();
    expect([await read("a"), logins.stamp()]).toEqual([undefined, "none"]);
    await save("a", "one");
    const stamp = logins.stamp();
    await save("b", "two");
    expect([await read("a"), await read("b"), await read("a", "https://evil.example")]).toEqual([
      "one",
      "two",
      undefined,
    ]);
    expect(logins.stamp()).not.toBe(stamp);
    expect(statSync(logins.path).mode & 0o777).toBe(0o600);
    expect(await logins.remove("a")).toBe(true);
    expect(await logins.remove("a")).toBe(false);
    expect([await read("a"), await read("b")]).toEqual([undefined, "two"]);
  });

  it("are in the keychain where there is one, and the file has no secret then", async () => {
    const { keychain, entries } = aKeychain();
    const { logins, save, read } = open(keychain);
    await save("a", "hush");
    expect(readFileSync(logins.path, "utf8")).not.toContain("hush");
    expect([[...entries.values()], await read("a")]).toEqual([["hush"], "hush"]);
    await logins.remove("a");
    expect(entries.size).toBe(0);
    // Another home has a safe of its own in the same safe.
    const other = open(keychain);
    await save("a", "mine");
    await other.save("a", "theirs");
    expect([await read("a"), await other.read("a")]).toEqual(["mine", "theirs"]);
  });

  it("go to the file when the keychain is locked, which is told", async () => {
    const { keychain, state } = aKeychain();
    state.isLocked = true;
    const { save, read, notices } = open(keychain);
    await save("a", "one");
    expect([await read("a"), notices]).toEqual(["one", [expect.stringContaining("is stored in")]]);
  });

  it("are refused where others could read them, or where they are damaged, without a word of what is in there", async () => {
    const { logins, save, read } = open();
    await save("a", "hush-hush");
    chmodSync(logins.path, 0o644);
    await expect(read("a")).rejects.toMatchObject({ code: "mode_too_wide" });
    writeFileSync(logins.path, '{"version":1,"logins":{"a":{"kept":"file","login":"hush-hush"');
    chmodSync(logins.path, 0o600);
    await expect(read("a")).rejects.toMatchObject({ code: "mcp_logins_unreadable" });
    await expect(read("a")).rejects.not.toThrow("hush-hush");
  });
});
