import { chmodSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/state/migrations.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { stateDirectory } from "./support.ts";

test("a file of the version before is counted when it is opened", async () => {
  using directory = stateDirectory();
  mkdirSync(dirname(directory.file), { mode: 0o700, recursive: true });
  const old = new DatabaseSync(directory.file);
  for (const step of MIGRATIONS.slice(0, 4)) old.exec(step);
  old.exec(`PRAGMA user_version = 4;
    INSERT INTO checkpoint VALUES (1, x'01', 'h', 'c', x'0203', 0, ${Date.now()});
    INSERT INTO blob (id, owner, name, data, seal) VALUES (1, x'0a', 'n', x'040506', 0), (2, x'0a', 'lost', x'07', 0);
    INSERT INTO ref VALUES (1, 1);
    INSERT INTO response VALUES (1, x'01', 'r', NULL, '{}', 2, ${Date.now()});
    INSERT INTO thought VALUES (x'02', 't', x'00', 'hm', NULL, 2, ${Date.now()});`);
  old.close();
  chmodSync(directory.file, 0o600);
  const database = await openStateDatabase(directory.file, { onNotice: ({ text }) => expect.unreachable(text) });
  const rows = database.connection.prepare("SELECT store, items, bytes FROM holding ORDER BY store").all();
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { store: "checkpoint", items: 1, bytes: 5 },
    { store: "response", items: 1, bytes: 2 },
    { store: "thought", items: 1, bytes: 2 },
  ]);
  database.close();
});
