import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createCheckpointStore } from "../../../src/state/checkpoint-store.ts";
import { createKeyValueStore } from "../../../src/state/key-value-store.ts";
import { openStateDatabase, type StateNotice } from "../../../src/state/state-database.ts";
import { checkpoint, stateDirectory } from "../../state/support.ts";

/** Each costs a few milliseconds; thousands of both were tried when this was written. */
const CUTS = 40;
const FLIPS = 80;

const mode = (path: string): number => statSync(path).mode & 0o777;

describe("the file", () => {
  test("and its directory are ours alone, whatever the umask", async () => {
    using directory = stateDirectory();
    const umask = process.umask(0);
    try {
      const database = await openStateDatabase(directory.file);
      createKeyValueStore(database, "s").set("k", "v");
      expect(mode(dirname(directory.file))).toBe(0o700);
      for (const suffix of ["", "-wal", "-shm"]) expect(mode(directory.file + suffix)).toBe(0o600);
      database.close();
    } finally {
      process.umask(umask);
    }
  });

  test.each<[string, (file: string) => void]>([
    ["can be read by others", (file) => writeFileSync(file, "", { mode: 0o644 })],
    ["stands where others may write", (file) => chmodSync(dirname(file), 0o777)],
    ["is a link", (file) => symlinkSync("/dev/null", file)],
    ["is a directory", (file) => mkdirSync(file)],
  ])("is refused if it %s", async (_, prepare) => {
    using directory = stateDirectory();
    mkdirSync(dirname(directory.file), { mode: 0o700 });
    prepare(directory.file);
    await expect(openStateDatabase(directory.file)).rejects.toMatchObject({ kind: "forbidden", code: "state_unsafe" });
  });

  test("that cannot be made is said so", async () => {
    using directory = stateDirectory();
    writeFileSync(join(directory.path, "home"), "");
    await expect(openStateDatabase(directory.file)).rejects.toMatchObject({ kind: "config", code: "state_unusable" });
  });

  test("of another version never takes the place of one that was put aside before", async () => {
    using directory = stateDirectory();
    const marks = ["version-7", "version-7-2", "version-7-3"];
    for (const mark of marks) {
      const database = await openStateDatabase(directory.file);
      createKeyValueStore(database, "s").set("k", mark);
      database.connection.exec("PRAGMA user_version = 7");
      database.close();
    }
    (await openStateDatabase(directory.file)).close();
    const kept = marks.map((mark) => {
      const aside = new DatabaseSync(`${directory.file}.${mark}`);
      const value = aside.prepare("SELECT value FROM kv").get()?.["value"];
      aside.close();
      return value;
    });
    expect(kept).toEqual(marks);
  });

  test("of another version is put aside once by several that open it", async () => {
    using directory = stateDirectory();
    const database = await openStateDatabase(directory.file);
    createKeyValueStore(database, "s").set("k", "kept");
    database.connection.exec("PRAGMA user_version = 7");
    database.close();
    const notices: StateNotice[] = [];
    const onNotice = (notice: StateNotice) => notices.push(notice);
    const opened = await Promise.all([1, 2, 3].map(() => openStateDatabase(directory.file, { onNotice })));
    expect(notices.map(({ code }) => code)).toEqual(["state_put_aside"]);
    const [first, ...others] = opened.map((one) => createKeyValueStore(one, "s"));
    first?.set("k", "new");
    expect(others.map((one) => one.get("k"))).toEqual(["new", "new"]);
    for (const one of opened) one.close();
    const aside = new DatabaseSync(`${directory.file}.version-7`);
    expect(aside.prepare("SELECT value FROM kv").get()).toMatchObject({ value: "kept" });
    aside.close();
    const files = readdirSync(dirname(directory.file)).sort();
    expect(files).toEqual(["state.db", "state.db.lock", "state.db.version-7"]);
  });
});

describe("a damaged file", () => {
  /** A database with some content, closed. */
  async function fill(file: string): Promise<number> {
    const database = await openStateDatabase(file);
    const store = createCheckpointStore(database);
    for (let index = 0; index < 40; index++) {
      store.put("p", `h${index}`, checkpoint("c", `state ${index}`, "x".repeat(1000 + index)));
    }
    database.close();
    return statSync(file).size;
  }

  /** What opening it comes to: never an exception, and afterwards it works. */
  async function reopen(file: string): Promise<string[]> {
    const notices: StateNotice[] = [];
    const database = await openStateDatabase(file, { onNotice: (notice) => notices.push(notice) });
    const store = createCheckpointStore(database);
    store.put("p", "new", checkpoint("c", "new"));
    expect(store.find("p", "new")).toEqual(checkpoint("c", "new"));
    database.close();
    return notices.map(({ code }) => code);
  }

  test.each<[string, string | Buffer]>([
    ["text", "this is no database, ".repeat(100)],
    ["a mark of byte order", "\ufeff{}"],
    ["a header and no more", Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(84, 1)])],
    ["zeroes", Buffer.alloc(8192)],
  ])("that is %s is set aside, and a new one begun", async (_, content) => {
    using directory = stateDirectory();
    mkdirSync(dirname(directory.file), { mode: 0o700 });
    writeFileSync(directory.file, content, { mode: 0o600 });
    expect(await reopen(directory.file)).toEqual(["state_put_aside"]);
    expect(readFileSync(`${directory.file}.corrupt`).equals(Buffer.from(content))).toBe(true);
    expect(mode(directory.file)).toBe(0o600);
  });

  test.each(["", "x"])("of %j is a new one", async (content) => {
    using directory = stateDirectory();
    mkdirSync(dirname(directory.file), { mode: 0o700 });
    writeFileSync(directory.file, content, { mode: 0o600 });
    expect(await reopen(directory.file)).toEqual([]);
    expect(existsSync(`${directory.file}.corrupt`)).toBe(false);
  });

  /** Whatever became of it: nothing that is found in it is wrong. Returns how much is. */
  async function countSound(file: string): Promise<number> {
    const database = await openStateDatabase(file);
    const store = createCheckpointStore(database);
    const found = Array.from({ length: 40 }, (_, index) => {
      const kept = store.find("p", `h${index}`);
      if (kept) expect(kept).toEqual(checkpoint("c", `state ${index}`, "x".repeat(1000 + index)));
      return kept;
    });
    database.close();
    return found.filter((kept) => kept !== undefined).length;
  }

  test("that was cut anywhere gives nothing wrong", async () => {
    using directory = stateDirectory();
    const size = await fill(directory.file);
    const whole = readFileSync(directory.file);
    expect(await countSound(directory.file)).toBe(40);
    for (let cut = 64; cut < size; cut += Math.ceil(size / CUTS / 64) * 64) {
      writeFileSync(directory.file, whole);
      truncateSync(directory.file, cut);
      await countSound(directory.file);
      expect(await reopen(directory.file)).toEqual([]);
    }
  });

  test("with any byte changed gives nothing wrong", async () => {
    using directory = stateDirectory();
    const size = await fill(directory.file);
    const whole = readFileSync(directory.file);
    for (let place = 17; place < size; place += Math.ceil(size / FLIPS)) {
      const bytes = Buffer.from(whole);
      bytes[place] = (bytes[place] ?? 0) ^ 0xff;
      writeFileSync(directory.file, bytes);
      await countSound(directory.file);
      expect(await reopen(directory.file)).toEqual([]);
    }
  });
});

describe("several processes", () => {
  const start = (file: string, name: string, count: number): ChildProcess =>
    spawn(
      process.execPath,
      [fileURLToPath(new URL("../../state/writer.ts", import.meta.url)), file, name, String(count)],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );

  test("one that is killed loses nothing that it had put", async () => {
    using directory = stateDirectory();
    const writer = start(directory.file, "w", 1e9);
    let last = -1;
    for await (const line of createInterface({ input: writer.stdout ?? expect.unreachable() })) {
      last = Number(line);
      if (last === 50) writer.kill("SIGKILL");
    }
    expect(last).toBeGreaterThanOrEqual(50);
    const notices: StateNotice[] = [];
    const database = await openStateDatabase(directory.file, { onNotice: (notice) => notices.push(notice) });
    const store = createCheckpointStore(database);
    for (let index = 0; index <= last; index++) {
      expect(store.find("w", `history-${index}`)).toEqual(checkpoint("w", `state-${index}`, `blob-${index}`, "shared"));
    }
    expect(notices).toEqual([]);
    database.close();
  });

  test.each(["make the file", "put a file of another version aside"])(
    "%s, and write, at the same time",
    async (what) => {
      using directory = stateDirectory();
      if (what !== "make the file") {
        const other = await openStateDatabase(directory.file);
        other.connection.exec("PRAGMA user_version = 99");
        other.close();
      }
      const writers = ["a", "b", "c"].map((name) => start(directory.file, name, 60));
      const outputs = await Promise.all(
        writers.map(async (writer) => {
          const exit = once(writer, "exit");
          const lines: string[] = [];
          for await (const line of createInterface({ input: writer.stdout ?? expect.unreachable() })) lines.push(line);
          return { code: (await exit)[0], lines };
        }),
      );
      const isNotice = (line: string) => line.startsWith("notice");
      const expected = { code: 0, lines: Array.from({ length: 60 }, (_, index) => String(index)) };
      const written = outputs.map(({ code, lines }) => ({ code, lines: lines.filter((line) => !isNotice(line)) }));
      expect(written).toEqual([expected, expected, expected]);
      const notices = outputs.flatMap(({ lines }) => lines.filter(isNotice));
      expect(notices).toHaveLength(what === "make the file" ? 0 : 1);
      const database = await openStateDatabase(directory.file);
      expect({ ...database.connection.prepare("SELECT total(items) AS items FROM holding").get() }).toEqual({
        items: 180,
      });
      database.close();
    },
  );
});

describe("a failure", () => {
  test("costs the request nothing and is told once a minute", async () => {
    let now = 0;
    const notices: StateNotice[] = [];
    const database = await openStateDatabase(":memory:", {
      now: () => now,
      onNotice: (notice) => notices.push(notice),
    });
    const store = createCheckpointStore(database);
    database.connection.exec("PRAGMA query_only = 1");
    for (now of [0, 30_000, 60_000]) store.put("p", "h", checkpoint("c", "s"));
    expect(store.find("p", "h")).toBeUndefined();
    expect(notices.map(({ code }) => code)).toEqual(["state_failed", "state_failed"]);
    database.connection.exec("PRAGMA query_only = 0");
    store.put("p", "h", checkpoint("c", "s"));
    expect(store.find("p", "h")).toBeDefined();
  });

  test("leaves nothing half done", async () => {
    const database = await openStateDatabase(":memory:");
    const kv = createKeyValueStore(database, "s");
    const result = database.write(() => {
      database.connection.exec("INSERT INTO kv VALUES ('s', 'k', 'v')");
      throw new Error("halfway");
    }, "fallback");
    expect(result).toBe("fallback");
    expect(kv.get("k")).toBeUndefined();
  });

  test("is not what comes after closing", async () => {
    const database = await openStateDatabase(":memory:", { onNotice: ({ text }) => expect.unreachable(text) });
    const store = createCheckpointStore(database);
    database.close();
    database.close();
    store.put("p", "h", checkpoint("c", "s"));
    expect(store.find("p", "h")).toBeUndefined();
  });
});

test("small facts are kept by space and key", async () => {
  using directory = stateDirectory();
  const first = await openStateDatabase(directory.file);
  const kv = createKeyValueStore(first, "a");
  kv.set("k", "1");
  kv.set("k", "2");
  kv.set("gone", "3");
  kv.delete("gone");
  first.close();
  const second = await openStateDatabase(directory.file);
  expect(createKeyValueStore(second, "a").get("k")).toBe("2");
  expect(createKeyValueStore(second, "a").get("gone")).toBeUndefined();
  expect(createKeyValueStore(second, "b").get("k")).toBeUndefined();
  second.close();
});
