import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createProcessLock } from "../../src/files/process-lock.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-lock-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

it("lets one at a time do something, and the next when it is done, whether or not that went well", async () => {
  const path = join(folder, "lock");
  let [inside, most] = [0, 0];
  const work = async (n: number) => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside--;
    if (n % 3 === 0) throw new Error("went wrong");
    return n;
  };
  const locks = Array.from({ length: 12 }, () => createProcessLock(path));
  const outcomes = await Promise.allSettled(locks.map((lock, n) => lock.run(() => work(n))));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
  expect(most).toBe(1);
  expect(statSync(path)).toMatchObject({ size: 0 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("does not wait for ever for who has it", async () => {
  const path = join(folder, "lock");
  await createProcessLock(path).run(async () => {
    const other = createProcessLock(path, { patienceMs: 0 });
    await expect(other.run(() => {})).rejects.toMatchObject({
      kind: "busy",
      code: "locked",
      message: expect.stringContaining(basename(path)),
    });
  });
  expect(await createProcessLock(path, { patienceMs: 0 }).run(() => "free")).toBe("free");
});
