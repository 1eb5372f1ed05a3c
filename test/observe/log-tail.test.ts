import { expect, it } from "vitest";
import { createLog } from "../../src/observe/log.ts";
import { LogTail } from "../../src/observe/log-tail.ts";
import { createRedactor } from "../../src/observe/redactor.ts";

const line = (n: number): string => JSON.stringify({ level: "info", time: "t", msg: `line ${n}` });

it("keeps the last lines, numbered, and gives those after a number", () => {
  const tail = new LogTail();
  for (let n = 1; n <= 5000; n++) tail.add(line(n));
  const all = tail.after(0, 1e9);
  expect([tail.last, all.length, all[0]?.number, all.at(-1)?.number]).toEqual([5000, 1000, 4001, 5000]);
  expect(tail.after(4998, 1e9).map(({ number }) => number)).toEqual([4999, 5000]);
  expect(tail.after(5000, 1e9)).toEqual([]);
});

it("gives no more characters than asked for, the newest lines", () => {
  const tail = new LogTail();
  for (let n = 1; n <= 9; n++) tail.add(line(n));
  expect(tail.after(0, 3 * line(1).length).map(({ number }) => number)).toEqual([7, 8, 9]);
});

it("shortens a line that is very long", () => {
  const tail = new LogTail();
  tail.add(JSON.stringify({ level: "warn", time: "t", msg: "m".repeat(9000), more: "x".repeat(9000) }));
  const [kept] = tail.after(0, 1e9);
  expect(kept?.json.length).toBeLessThan(4000);
  expect(JSON.parse(kept?.json ?? "")).toMatchObject({ level: "warn", omittedChars: expect.any(Number) });
});

it("gets lines of the log without secrets, also where the log is written for people (SEC-50)", () => {
  const tail = new LogTail();
  const redactor = createRedactor();
  redactor.add("a-very-secret-token-0123456789");
  const log = createLog({ level: "info", redactor, write: () => {}, isPretty: true, onLine: (json) => tail.add(json) });
  log.info({ token: "a-very-secret-token-0123456789" }, "hello");
  log.debug({}, "not at this level");
  const lines = tail.after(0, 1e9);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.json).not.toContain("very-secret");
  expect(JSON.parse(lines[0]?.json ?? "")).toMatchObject({ msg: "hello" });
});
