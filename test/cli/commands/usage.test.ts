import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RequestRecord } from "../../../src/usage/record/records.ts";
import { openUsageDatabase } from "../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../src/usage/store/usage-store.ts";
import { aCall, aRecord, aRun } from "../../usage/support.ts";
import { excursor } from "../support/excursor.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-usage-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

async function fill(
  records: readonly Partial<RequestRecord>[],
  more: (store: UsageStore) => void = () => {},
): Promise<void> {
  const onNotice = () => {};
  const connection = await openUsageDatabase(join(home, "usage.db"), onNotice);
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e9, onNotice });
  for (const record of records) store.request(aRecord(record));
  more(store);
  store.close();
}

const start = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(["usage", ...args], { environment: { EXCURSOR_HOME: home, ...environment } });

const run = async (...given: Parameters<typeof start>) => {
  const { exited, output } = start(...given);
  return { code: (await exited).code, ...output };
};

describe("excursor usage", () => {
  it("says that nothing was used, and where there is no record at all", async () => {
    expect(await run([])).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Nothing was used") });
  });

  it("sums up by the group that is asked for, the dearest first, with a bar", async () => {
    const cost = (micros: number) => ({ micros, isEstimate: false, source: "settings" });
    await fill([
      { modelServed: "cheap", startedAt: Date.now(), cost: cost(10_000) },
      { modelServed: "dear", startedAt: Date.now(), cost: cost(40_000) },
      { modelServed: "dear", startedAt: Date.now(), cost: cost(40_000), status: 500 },
      { modelServed: "unknown", startedAt: Date.now() },
    ]);
    const { stdout, stderr } = await run(["--by", "model"]);
    const [heading, ...lines] = stdout.trimEnd().split("\n");
    expect(heading).toMatch(/^MODEL +REQUESTS +ERRORS +INPUT +CACHED +OUTPUT +COST/);
    expect(lines[0]).toMatch(/^dear +2 +1 +200 +120 +40 +\$0\.0800 +█{16}$/);
    expect(lines[1]).toMatch(/^cheap +1 +0 .*\$0\.0100 +██$/);
    expect(lines[2]).toMatch(/^unknown +1 .* -$/);
    expect(stderr).toContain("without a price");
    const { rows } = JSON.parse((await run(["--by", "key", "--json"])).stdout) as { rows: unknown[] };
    expect(rows).toMatchObject([{ name: "owner", requests: 4, input: 400, costMicros: 90_000, unpriced: 1 }]);
  });

  it("has days in local time, of 23 and 25 hours where the clock is changed", async () => {
    // In Berlin the clock goes forward on 2026-03-29 and back on 2026-10-25.
    const inBerlin = { TZ: "Europe/Berlin" };
    await fill(
      [
        "2026-03-28T23:00:00Z",
        "2026-03-29T21:59:59Z",
        "2026-03-29T22:00:00Z",
        "2026-10-24T22:00:00Z",
        "2026-10-25T22:59:59Z",
      ].map((time) => ({ startedAt: Date.parse(time) })),
    );
    const days = async (environment: Readonly<Record<string, string>>) => {
      const { stdout } = await run(["--by", "day", "--since", "2026-01-01", "--json"], environment);
      const { rows } = JSON.parse(stdout) as { rows: { name: string; requests: number }[] };
      return rows.map(({ name, requests }) => `${name} ${requests}`);
    };
    expect(await days(inBerlin)).toEqual(["2026-03-29 2", "2026-03-30 1", "2026-10-25 2"]);
    expect(await days({ TZ: "America/New_York" })).toEqual([
      "2026-03-28 1",
      "2026-03-29 2",
      "2026-10-24 1",
      "2026-10-25 1",
    ]);
  });

  it("exports every request as CSV and as lines of JSON", async () => {
    await fill([{ id: "one", modelAsked: '=cmd,"x"', startedAt: 1_000 }, { id: "two" }]);
    const { stdout: csv } = await run(["export", "--format", "csv"]);
    const [heading, first] = csv.split("\r\n");
    expect(heading).toMatch(/^time,id,key_name,client,/);
    expect(first).toMatch(/^1970-01-01T00:00:01\.000Z,one,owner,claude-code,.*,"'=cmd,""x""",/);
    const { stdout: lines } = await run(["export", "--format", "jsonl", "--since", "2026-01-01"]);
    const rows = lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows).toMatchObject([{ id: "two", input: 100, cached: 60, origin: "upstream", run: "fresh", gate_ms: 0.4 }]);
  });

  it("exports runs and tool calls, with their own columns", async () => {
    await fill([{ id: "one" }], (store) => {
      store.run(aRun({ requestIds: ["one", "two"] }));
      store.toolCall(aCall({ callId: "call_1", requestId: "one" }));
    });
    const { stdout: runs } = await run(["export", "--of", "runs"]);
    const [heading, first] = runs.split("\r\n");
    expect(heading).toMatch(/^time,id,requests,driver,model,/);
    expect(first).toBe(
      '2026-11-16T12:00:00.000Z,run-1,"one,two",cursor,gpt-5.5,abcdefghijklmnop,0b2f8a52-5c2f-4b1e-9a0e-3d9f8a7e5c11,' +
        "default,fresh,,0,10,parked,1,2,0,0,0,estimate",
    );
    const { stdout: calls } = await run(["export", "--of", "tool-calls", "--format", "jsonl"]);
    expect(JSON.parse(calls)).toEqual({
      time: "2026-11-16T12:00:00.000Z",
      answered: "2026-11-16T12:00:00.010Z",
      call_id: "call_1",
      request_id: "one",
      ran_by: "client",
      server: null,
      tool: "look",
      outcome: "answered",
      bytes: 5,
    });
  });

  it("watches until it is stopped, and then ends well", async () => {
    await fill([{ startedAt: Date.now() }]);
    const { child, exited, output } = start(["watch"]);
    await expect.poll(() => output.stdout, { timeout: 20_000 }).toContain("claude-sonnet-4.5");
    await fill([{ startedAt: Date.now(), modelServed: "later" }]);
    await expect.poll(() => output.stdout, { timeout: 20_000 }).toContain("later");
    child.kill("SIGINT");
    expect((await exited).code).toBe(0);
  });

  it("refuses a time that is none", async () => {
    const { code, stderr } = await run(["--since", "2026-02-31"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("--since");
  });
});
