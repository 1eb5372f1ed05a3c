import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { cliAuthFiles, ideStateFile } from "../../src/credentials/cursor-paths.ts";
import { askSource } from "../../src/credentials/find-login.ts";
import type { CredentialSource } from "../../src/credentials/source.ts";
import { createCursorCliSource } from "../../src/credentials/sources/cursor-cli.ts";
import { createCursorIdeSource } from "../../src/credentials/sources/cursor-ide.ts";
import { createEnvironmentSource } from "../../src/credentials/sources/environment.ts";
import { createMacosKeychainSource } from "../../src/credentials/sources/macos-keychain.ts";
import { createRequestSource } from "../../src/credentials/sources/request.ts";
import { issueTokens } from "../../src/sim/accounts.ts";
import { makeHome } from "./support/accounts-stage.ts";

const GOOD = issueTokens("auth0|user_x", 3600);
const EXPIRED = issueTokens("auth0|user_x", -10);

type Tokens = typeof GOOD;

interface SourceStage {
  readonly source: CredentialSource;
  /** Puts a login where the source looks. */
  fill(tokens: Tokens): void;
  /** Puts something else there. */
  spoil(text: string): void;
  readonly path: string;
}

const onLinux = (homeFolder: string) => ({ platform: "linux" as const, environment: {}, homeFolder });

function cliStage(): SourceStage {
  const homeFolder = makeHome();
  const path = join(homeFolder, ".config", "cursor", "auth.json");
  const spoil = (text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  };
  return {
    source: createCursorCliSource(onLinux(homeFolder)),
    fill: (tokens) => spoil(JSON.stringify(tokens)),
    spoil,
    path,
  };
}

function ideStage(): SourceStage {
  const homeFolder = makeHome();
  const path = ideStateFile(onLinux(homeFolder));
  mkdirSync(dirname(path), { recursive: true });
  return {
    source: createCursorIdeSource({ ...onLinux(homeFolder), home: join(homeFolder, "own") }),
    fill: (tokens) => openState(path, tokens).close(),
    spoil: (text) => writeFileSync(path, text, { mode: 0o600 }),
    path,
  };
}

/** As the IDE has it: in WAL mode, its newest rows not yet in the file itself. */
function openState(path: string, { accessToken, refreshToken }: Tokens): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  database.exec("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  const put = database.prepare("INSERT INTO ItemTable VALUES (?, ?)");
  put.run("cursorAuth/accessToken", accessToken);
  put.run("cursorAuth/refreshToken", JSON.stringify(refreshToken));
  put.run("cursorAuth/cachedEmail", "x@example.invalid");
  return database;
}

function macosStage(): SourceStage {
  const folder = makeHome();
  const path = join(folder, "security");
  const script = (body: string) => {
    writeFileSync(path, `#!/bin/sh\n${body}\n`);
    chmodSync(path, 0o700);
  };
  script("exit 44");
  return {
    source: createMacosKeychainSource({ platform: "darwin", command: path }),
    fill: ({ accessToken, refreshToken }) =>
      script(`[ "$1 $2 $4 $5 $6" = "find-generic-password -s -a cursor-user -w" ] || exit 1
case "$3" in cursor-access-token) echo ${accessToken};; cursor-refresh-token) echo ${refreshToken};; *) exit 44;; esac`),
    spoil: (text) => script(`printf '%s' '${text.replaceAll("'", "")}'`),
    path: "cursor-access-token",
  };
}

describe.each([
  ["Cursor's command line", cliStage],
  ["the IDE's database", ideStage],
  ["the macOS keychain", macosStage],
])("%s", (_, makeStage) => {
  it("has nothing where there is nothing", async () => {
    expect((await askSource(makeStage().source, Date.now())).type).toBe("none");
  });

  it("gives the login of its program, which is not ours to renew", async () => {
    const { source, fill } = makeStage();
    fill(GOOD);
    const report = await askSource(source, Date.now());
    expect(report).toMatchObject({ type: "found", found: { isForeign: true } });
    if (report.type !== "found") return;
    const { access, refresh } = report.found.login;
    expect([access?.reveal(), refresh?.reveal()]).toEqual([GOOD.accessToken, GOOD.refreshToken]);
  });

  it("says that a login has expired", async () => {
    const { source, fill } = makeStage();
    fill(EXPIRED);
    const report = await askSource(source, Date.now());
    expect(report).toMatchObject({ type: "problem", error: { code: "login_expired" } });
  });

  it.each([
    ["garbage", "gar-bage"],
    ["half a token", GOOD.accessToken.slice(0, 60)],
    ["a truncated file", '{"accessToken":"eyJhbGciOi'],
    ["another thing", '{"accessToken":17}'],
    ["null", "null"],
  ])("says in one sentence that %s is none, and does not repeat it", async (_, text) => {
    const { source, spoil, path } = makeStage();
    spoil(text);
    const report = await askSource(source, Date.now());
    expect(report.type).toBe("problem");
    if (report.type !== "problem") return;
    expect(report.error.message).toContain(path);
    expect(report.error.message.match(/\. /)).toBeNull();
    expect(report.error.hint).toMatch(/excursor login/);
    expect(`${report.error.message} ${report.error.hint}`).not.toMatch(/eyJ|gar-bage/);
  });
});

describe.each([
  ["Cursor's command line", cliStage],
  ["the IDE's database", ideStage],
])("a file of %s", (_, makeStage) => {
  it("that every user can read is not used; behind a private folder its mode does not matter", async () => {
    const { source, fill, path } = makeStage();
    fill(GOOD);
    chmodSync(path, 0o644);
    expect((await askSource(source, Date.now())).type).toBe("found");
    for (let folder = dirname(path); folder !== tmpdir(); folder = dirname(folder)) chmodSync(folder, 0o755);
    expect(await askSource(source, Date.now())).toMatchObject({
      type: "problem",
      error: { code: "mode_too_wide", hint: `Run: chmod 600 '${path}'` },
    });
  });

  it("that is a folder says that it cannot be read", async () => {
    const { source, path } = makeStage();
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const report = await askSource(source, Date.now());
    expect(report).toMatchObject({ type: "problem", error: { message: expect.stringContaining(path) } });
  });
});

describe("the IDE's database", () => {
  it("is read while the IDE holds it, with what is only in the log yet, and stays as it was", async () => {
    const { source, path } = ideStage();
    const database = openState(path, EXPIRED);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const put = database.prepare("INSERT INTO ItemTable VALUES (?, ?)");
    put.run("cursorAuth/accessToken", Buffer.from(GOOD.accessToken));
    database.exec("BEGIN IMMEDIATE");
    const files = () => readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name), "latin1"));
    const before = files();
    const report = await askSource(source, Date.now());
    expect(report.type === "found" && report.found.login.access?.reveal()).toBe(GOOD.accessToken);
    expect(files()).toEqual(before);
    database.exec("COMMIT");
    database.close();
    expect(readdirSync(join(dirname(path), "../../../../own"))).toEqual([]);
  });

  it("without the table is called damaged", async () => {
    const { source, path } = ideStage();
    new DatabaseSync(path).exec("CREATE TABLE other (x)");
    chmodSync(path, 0o600);
    expect(await askSource(source, Date.now())).toMatchObject({ error: { code: "source_damaged" } });
  });
});

describe("the macOS keychain", () => {
  it("that is locked says so", async () => {
    const folder = makeHome();
    writeFileSync(join(folder, "security"), "#!/bin/sh\necho secret-in-its-words >&2; exit 51\n", { mode: 0o700 });
    const locked = createMacosKeychainSource({ platform: "darwin", command: join(folder, "security") });
    const report = await askSource(locked, Date.now());
    expect(report).toMatchObject({ error: { message: "The keychain did not return cursor-access-token (51)." } });
    expect(JSON.stringify(report)).not.toContain("secret-in-its-words");
  });

  it("is not asked on other systems", async () => {
    const source = createMacosKeychainSource({ platform: "linux", command: "/nonexistent" });
    expect((await askSource(source, Date.now())).type).toBe("none");
  });
});

it.each([
  ["linux", {}, "/home/x/.config/cursor/auth.json", "/home/x/.config/Cursor/User/globalStorage/state.vscdb"],
  ["linux", { XDG_CONFIG_HOME: "/c" }, "/c/cursor/auth.json", "/c/Cursor/User/globalStorage/state.vscdb"],
  [
    "darwin",
    {},
    "/home/x/.cursor/auth.json",
    "/home/x/Library/Application Support/Cursor/User/globalStorage/state.vscdb",
  ],
  [
    "win32",
    { APPDATA: "C:\\Users\\x\\AppData\\Roaming" },
    "C:\\Users\\x\\AppData\\Roaming\\Cursor\\auth.json",
    "C:\\Users\\x\\AppData\\Roaming\\Cursor\\User\\globalStorage\\state.vscdb",
  ],
] as const)("on %s with %j Cursor's files are where they are", (platform, environment, cli, ide) => {
  const machine = { platform, environment, homeFolder: "/home/x" };
  expect(cliAuthFiles(machine)[0]).toBe(cli);
  expect(ideStateFile(machine)).toBe(ide);
});

it.each([
  ["the setting token", "given", {}, "given", undefined],
  ["CURSOR_AUTH_TOKEN", undefined, { CURSOR_AUTH_TOKEN: "auth", CURSOR_API_KEY: "key" }, "auth", undefined],
  ["CURSOR_API_KEY", undefined, { CURSOR_API_KEY: " key\n" }, undefined, "key"],
])("the environment: %s", async (place, token, environment, access, apiKey) => {
  const source = createEnvironmentSource({ token: token === undefined ? undefined : new Secret(token), environment });
  const found = await source.find();
  expect([source.place, found?.login.access?.reveal(), found?.login.apiKey?.reveal()]).toEqual([place, access, apiKey]);
});

it("what comes with a request is not there before it", async () => {
  expect((await askSource(createRequestSource(true), 0)).type).toBe("none");
  expect(createRequestSource(false).place).toContain("switched off");
});
