import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addKey, keysPath, readKeys } from "../../../src/server/gate/keys/gateway-keys.ts";
import { openUsageDatabase } from "../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../src/usage/store/usage-store.ts";
import { aRecord } from "../../usage/support.ts";
import { excursor } from "../support/excursor.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-limits-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const run = (...args: readonly string[]) =>
  excursor(["limits", ...args], { environment: { EXCURSOR_HOME: home } }).exited;

/** A key with limits, and one request of it and of the owner, of 120 tokens each. */
async function setUp(): Promise<void> {
  const usage = ["100 tokens/total", "$5/month", "$9/conversation"];
  await addKey(home, "alice", { account: undefined, limits: { usage, onLimit: "pause" } });
  const config = { usage: { ownLimits: ["1000 tokens/day"] } };
  writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const onNotice = () => {};
  const connection = await openUsageDatabase(join(home, "usage.db"), onNotice);
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e9, onNotice });
  const cost = { micros: 2_500_000, isEstimate: false, source: "settings" };
  for (const principalId of [readKeys(keysPath(home))[0]?.id ?? "", "owner"]) {
    store.request(aRecord({ principalId, startedAt: Date.now(), cost }));
  }
  store.close();
}

describe("excursor limits", { timeout: 60_000 }, () => {
  it("lists what each key has used of its limits, and lifts those of one", async () => {
    await setUp();
    const { stdout } = await run("list");
    const time = "\\d{4}-\\d\\d-\\d\\dT\\S+Z";
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^KEY +LIMIT +USED +RESETS +STATE +ON LIMIT$/),
      expect.stringMatching(new RegExp(`^owner +1000 tokens/day +120 tokens +${time} +ok +end$`)),
      expect.stringMatching(/^alice +100 tokens\/total +120 tokens +- +reached +pause$/),
      expect.stringMatching(new RegExp(`^alice +\\$5/month +\\$2\\.50 +${time} +ok +pause$`)),
      expect.stringMatching(/^alice +\$9\/conversation +- +- +ok +pause$/),
    ]);
    expect((await run("lift", "alice")).stdout).toContain("Lifted: what alice has used");
    const lines = JSON.parse((await run("list", "--json")).stdout) as object[];
    expect(lines).toMatchObject([
      { key: "owner", used: "120 tokens" },
      { key: "alice", used: "0 tokens", isReached: false, resetsAt: null },
      { key: "alice", used: "$0.0000" },
      { key: "alice", used: null },
    ]);
  });

  it("says which keys there are, and that there is no record", async () => {
    expect(await run("lift", "bob")).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("There is no key named bob; known keys: owner."),
    });
    expect(await run("lift", "owner")).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("There is no usage record yet"),
    });
    expect(await run("list")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("No key has a limit"),
    });
  });
});
