import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { backupOf } from "../../src/state/back-up-database.ts";
import { MIGRATIONS } from "../../src/state/migrations.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { stateDirectory } from "./support.ts";

const OLD = MIGRATIONS.length - 1;

function writeOldState(file: string): void {
  mkdirSync(dirname(file), { mode: 0o700, recursive: true });
  const old = new DatabaseSync(file);
  for (const step of MIGRATIONS.slice(0, OLD)) old.exec(step);
  old.exec(`PRAGMA user_version = ${OLD}; INSERT INTO kv VALUES ('s', 'k', 'kept')`);
  old.close();
  chmodSync(file, 0o600);
}

const versionOf = (file: string): unknown => {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("PRAGMA user_version").get();
  database.close();
  return row?.["user_version"];
};

test("a state file of an older version is copied before it is migrated", async () => {
  using directory = stateDirectory();
  writeOldState(directory.file);
  (await openStateDatabase(directory.file)).close();
  expect(versionOf(directory.file)).toBe(MIGRATIONS.length);
  const backup = backupOf(directory.file);
  expect(versionOf(backup)).toBe(OLD);
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  const copy = new DatabaseSync(backup, { readOnly: true });
  expect(copy.prepare("SELECT value FROM kv").get()).toEqual({ value: "kept" });
  copy.close();
});

test("a new file, or one of this version, needs no copy", async () => {
  using directory = stateDirectory();
  (await openStateDatabase(directory.file)).close();
  (await openStateDatabase(directory.file)).close();
  expect(existsSync(backupOf(directory.file))).toBe(false);
});

test("without a copy nothing is migrated", async () => {
  using directory = stateDirectory();
  writeOldState(directory.file);
  // A folder in the place of the copy.
  mkdirSync(backupOf(directory.file));
  await expect(openStateDatabase(directory.file)).rejects.toMatchObject({ code: "no_backup" });
  expect(versionOf(directory.file)).toBe(OLD);
  expect(readdirSync(dirname(directory.file)).filter((name) => name.includes("tmp"))).toEqual([]);
});

test("the usage record is copied, too", async () => {
  using directory = stateDirectory();
  const first = await openUsageDatabase(directory.file, () => {});
  expect(existsSync(backupOf(directory.file))).toBe(false);
  const current = versionOf(directory.file);
  // A file of the first version has the first tables only.
  first.exec("DROP TABLE billing_period; DROP TABLE run; DROP TABLE charge; PRAGMA user_version = 1");
  first.close();
  (await openUsageDatabase(directory.file, () => {})).close();
  expect([versionOf(backupOf(directory.file)), versionOf(directory.file)]).toEqual([1, current]);
});
