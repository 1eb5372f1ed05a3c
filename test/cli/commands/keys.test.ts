import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { excursor } from "../support/excursor.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-keys-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(args, { environment: { EXCURSOR_HOME: home, ...environment } });

const ask = (url: string, key: string) =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);

describe("excursor keys", { timeout: 90_000 }, () => {
  it("gives out keys for accounts, lists them, and takes them back under a running gateway", async () => {
    const sim = await startSim();
    const upstream = { EXCURSOR_UPSTREAM: sim.url };
    expect((await run(["login", "--api-key", "some-key", "--account", "work"], upstream).exited).code).toBe(0);
    const gateway = run(["serve", "--port", "0", "--json"], upstream);
    const { url } = JSON.parse(await gateway.firstLine()) as { url: string };

    const flags = ["--account", "work", "--streams", "2"];
    const limits = ["--limit", "60 requests/minute", "--limit", "5000000 tokens/total"];
    const wrong = await run(["keys", "add", "alice", "--limit", "90000 tokens/hour"]).exited;
    expect([wrong.code, wrong.stderr]).toEqual([
      65,
      expect.stringContaining('--limit "90000 tokens/hour": tokens can be limited by minute, day, month, total,'),
    ]);
    const added = await run(["keys", "add", "alice", ...flags, ...limits]).exited;
    const key = added.stdout.trim();
    expect([added.code, key]).toEqual([0, expect.stringMatching(/^exc_[\w-]{43}$/)]);
    expect(await ask(url, key)).toBe(200);

    const { stdout } = await run(["keys", "list"]).exited;
    expect(stdout).toMatch(
      /^NAME .*\nalice +work +2 +60 requests\/minute, 5000000 tokens\/total +end +\d{4}-\d\d-\d\d\n$/,
    );
    const json = (await run(["keys", "list", "--json"]).exited).stdout;
    expect(JSON.parse(json)).toMatchObject([{ name: "alice", account: "work", limits: { streams: 2 } }]);
    expect(json + stdout).not.toMatch(/digest|[0-9a-f]{64}/);

    expect((await run(["keys", "revoke", "alice"]).exited).stdout).toBe("Revoked: alice.\n");
    expect(await ask(url, key)).toBe(401);
    gateway.child.kill("SIGTERM");
    const { stderr } = await gateway.exited;
    expect(stderr).toMatch(/"principal":"key_alice_[0-9a-f]{8}"/);
    expect(stderr).not.toContain(key);
    await sim.close();
  });

  it("gives no limit in dollars where a model of the settings has no price", async () => {
    const models = JSON.stringify({ "my-llama": { driver: "openai", baseURL: "http://127.0.0.1:9/v1" } });
    const environment = { EXCURSOR_MODELS: models };
    const added = await run(["keys", "add", "alice", "--limit", "$5/day"], environment).exited;
    expect([added.code, added.stdout]).toEqual([78, ""]);
    expect(added.stderr).toMatch(/the model my-llama has no price.*`prices`/s);
    const own = { EXCURSOR_USAGE_OWN_LIMITS: "$5/day", ...environment };
    const served = await run(["serve", "--port", "0"], own).exited;
    expect([served.code, served.stderr]).toEqual([78, expect.stringContaining("the model my-llama has no price")]);
  });

  it.each([
    ["an unknown account", ["add", "a", "--account", "nobody"], 77, 'The account "nobody" is not signed in'],
    ["a name that is none", ["add", "a b"], 65, "The name of a key must have"],
    ["the name of the gateway's own key", ["add", "owner"], 65, "the name of the gateway's own key"],
    ["a limit that leaves nothing", ["add", "a", "--streams", "0"], 65, "A limit must be at least 1"],
    ["a limit that is none", ["add", "a", "--streams", "many"], 2, "Expected a whole number."],
    ["an unknown key", ["revoke", "nobody"], 65, "There is no key named nobody"],
  ])("refuses %s", async (_, args, code, sentence) => {
    const result = await run(["keys", ...args]).exited;
    expect([result.code, result.stdout, result.stderr]).toEqual([code, "", expect.stringContaining(sentence)]);
  });
});
