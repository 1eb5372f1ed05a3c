import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { undoLogins } from "../../../src/cli/actions/install/undo-logins.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createAccountStore } from "../../../src/credentials/account-store.ts";
import { createServerLogins } from "../../../src/credentials/server-logins.ts";
import { aKeychain } from "../../credentials/support/a-keychain.ts";
import { makeHome } from "../../credentials/support/accounts-stage.ts";
import { bundlePath, DESKTOP, isPure, makeApp, snapshot } from "../../ide/support/app-tree.ts";
import { excursor } from "../support/excursor.ts";

function setUp() {
  const tree = makeApp();
  onTestFinished(() => rmSync(tree.folder, { recursive: true }));
  const environment = { EXCURSOR_HOME: tree.home, HOME: tree.folder, EXCURSOR_PORT: "0" };
  return { ...tree, run: (...args: string[]) => excursor(args, { environment }).exited };
}

describe("excursor reset", () => {
  it("restores a patched Cursor before it deletes the originals", async () => {
    const { root, home, run } = setUp();
    const before = snapshot(root);
    expect(await run("ide", "patch", "--app", root)).toMatchObject({ code: 0 });
    expect((await run("reset", "--dry-run")).stdout).toContain(`  restore the Cursor IDE in ${root}\n`);
    expect(isPure(root)).toBe(true);
    expect(await run("reset", "--yes")).toMatchObject({ code: 0 });
    expect(snapshot(root)).toEqual(before);
    expect(existsSync(home)).toBe(false);
  }, 60_000);

  it("undoes nothing if Cursor cannot be restored, unless it is forced", async () => {
    const { root, home, run } = setUp();
    await run("ide", "patch", "--app", root);
    const bundle = bundlePath(root, DESKTOP);
    writeFileSync(bundle, `${readFileSync(bundle, "utf8")}\n// changed by another program\n`);
    const refused = await run("reset", "--yes");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/cannot be restored: .*changed after.* Nothing was undone\.\n.*--force/);
    expect(existsSync(join(home, "ide/records"))).toBe(true);
    const forced = await run("reset", "--yes", "--force");
    expect(forced).toMatchObject({ code: 0, stderr: expect.stringContaining("stays patched") });
    expect(existsSync(home)).toBe(false);
  }, 60_000);

  it("deletes nothing that Excursor has not written, through links neither (A26)", async () => {
    const { folder, home, run } = setUp();
    const theirs = join(folder, "theirs");
    mkdirSync(join(theirs, "captures"), { recursive: true });
    writeFileSync(join(theirs, "captures", "2026-11-19T00-00-00-000Z-1.capture"), "theirs");
    writeFileSync(join(theirs, "config.json"), "{}");
    await run("key");
    for (const name of ["notes.txt", "key.pem", "state.db.mine"]) writeFileSync(join(home, name), "theirs");
    mkdirSync(join(home, "connections/more"), { recursive: true });
    writeFileSync(join(home, "connections/more/a.json"), "theirs");
    symlinkSync(join(theirs, "captures"), join(home, "captures"));
    symlinkSync(join(theirs, "config.json"), join(home, "mcp.json"));
    const reset = await run("reset", "--yes");
    expect(reset.code).toBe(0);
    expect(reset.stdout).toContain(
      "did not write it: captures, connections, key.pem, mcp.json, notes.txt, state.db.mine\n",
    );
    expect(readdirSync(home)).toEqual(["captures", "connections", "key.pem", "mcp.json", "notes.txt", "state.db.mine"]);
    expect(readFileSync(join(home, "connections/more/a.json"), "utf8")).toBe("theirs");
    expect(readdirSync(join(theirs, "captures"))).toHaveLength(1);
    expect(readFileSync(join(theirs, "config.json"), "utf8")).toBe("{}");
  });

  it("refuses a link to the user's own folder (A26)", async () => {
    const { folder } = setUp();
    const user = join(folder, "user");
    mkdirSync(user, { mode: 0o700 });
    writeFileSync(join(user, "key"), "theirs");
    symlinkSync(user, join(folder, "link"));
    const environment = { EXCURSOR_HOME: join(folder, "link"), HOME: user };
    const { code, stderr } = await excursor(["reset", "--yes"], { environment }).exited;
    expect([code, stderr]).toEqual([78, expect.stringContaining("holds more than its files")]);
    expect(readdirSync(user)).toEqual(["key"]);
  });

  it("lists what is left to the user", async () => {
    const { folder, run } = setUp();
    mkdirSync(join(folder, ".config/fish"), { recursive: true });
    writeFileSync(join(folder, ".bashrc"), 'eval "$(excursor completion bash)"\n');
    const { stdout } = await run("reset", "--dry-run");
    expect(stdout).toContain("This is left to you:\n  the program: npm uninstall -g excursor\n");
    expect(stdout).toContain(`remove the line with \`excursor completion\` from ${join(folder, ".bashrc")}\n`);
    expect(stdout).not.toContain("fish");
  });

  it("takes logins of accounts and of MCP servers out of the keychain", async () => {
    const { keychain, entries, state } = aKeychain();
    const home = makeHome();
    const options = { home, keychain, onNotice: () => {} };
    const [accounts, servers] = [createAccountStore(options), createServerLogins(options)];
    const login = { access: new Secret("a"), refresh: new Secret("b"), apiKey: undefined };
    await accounts.lock.run(() => accounts.write({ name: "work", origin: "https://api2.cursor.sh", login }));
    await servers.lock.run(() => servers.write("notes", "https://mcp.example/mcp", new Secret("hush")));
    expect(entries.size).toBe(2);
    const steps = undoLogins(home, keychain);
    expect(steps.map(({ text }) => text)).toEqual(["sign out the account work", "sign out of the MCP server notes"]);
    state.isLocked = true;
    for (const { undo } of steps) await expect(undo()).rejects.toThrow();
    expect(entries.size).toBe(2);
    state.isLocked = false;
    for (const { undo } of steps) await undo();
    expect(entries.size).toBe(0);
    expect(undoLogins(home, keychain)).toEqual([]);
  });
});
