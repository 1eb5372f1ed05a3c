import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { SimOptions } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import type { BackendClient, Intercept } from "../../sim/support/backend-client.ts";
import { recordCassette } from "../../sim/support/record-cassette.ts";
import { excursor } from "../support/excursor.ts";

const TOKEN = "tester-token-0123456789";
let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-replay-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function startBackend(options: Partial<SimOptions> = {}): Promise<string> {
  const sim = await startSim(options);
  onTestFinished(() => sim.close());
  return sim.url;
}

const run = (...args: string[]) =>
  excursor(["replay", file, ...args], {
    environment: { EXCURSOR_HOME: join(folder, "home"), REPLAY_TOKEN: TOKEN },
  }).exited;

async function record(script: string): Promise<void> {
  const url = await startBackend({ script });
  await recordCassette({ url, transport: "h2", tools: {} }, (client) => client.say("hello"), file);
}

describe("excursor replay", { timeout: 60_000 }, () => {
  it("prints a line per call and the first difference, and exits with 1 if there is one", async () => {
    await record("@sim say one");
    const same = await run("--to", await startBackend({ script: "@sim say one" }), "--token-from", "REPLAY_TOKEN");
    expect([same.code, same.stderr]).toEqual([0, ""]);
    expect(same.stdout).toMatch(
      /^same +#1 \/agent\.v1\.AgentService\/Run +\d+ ms\n1 same, 0 different, 0 skipped\.\n$/,
    );
    const other = await startBackend({ script: "@sim say two" });
    const different = await run("--to", other, "--token-from", "REPLAY_TOKEN");
    expect(different.code).toBe(1);
    expect(different.stdout).toMatch(
      /^diff +#1 .*\n +step \d+\n +recorded: .*"one"\n +now: .*"two"\n0 same, 1 different/,
    );
    const json = await run("--to", other, "--token-from", "REPLAY_TOKEN", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      to: other,
      different: 1,
      calls: [{ call: 1, result: "different", difference: { now: { text: "two" } } }],
    });
  });

  it("says that a token is missing if the backend wants one", async () => {
    await record("@sim say one");
    const url = await startBackend({ script: "@sim say one" });
    const { code, stderr } = await run("--to", url);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Give --account or --token-from.")]);
  });

  it("SEC-13 --account takes the token of an account, and only if it is signed in at that backend", async () => {
    await record("@sim say one");
    const url = await startBackend({ script: "@sim say one" });
    const environment = { EXCURSOR_HOME: join(folder, "home"), EXCURSOR_UPSTREAM: url };
    const login = await excursor(["login", "--api-key", "some-key", "--account", "work"], { environment }).exited;
    expect(login.code).toBe(0);
    const same = await run("--to", url, "--account", "work");
    expect([same.code, same.stdout]).toEqual([0, expect.stringContaining("1 same, 0 different")]);
    const other = await startBackend({ script: "@sim say one", trace: () => expect.unreachable("it was called") });
    const refused = await run("--to", other, "--account", "work");
    expect([refused.code, refused.stdout]).toEqual([77, ""]);
    expect(refused.stderr).toMatch(/work/);
    const unknown = await run("--to", url, "--account", "nobody");
    expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([77, "", expect.stringContaining("nobody")]);
  });

  it("--paced keeps the pauses of the recorded client", async () => {
    const url = await startBackend({ script: "@sim say a ;; silent 600000" });
    let at = 1e12;
    let hasCancelled = false;
    const cancelLater: Intercept = (message, send) => {
      if (message.case !== "conversationCheckpointUpdate" || hasCancelled) return false;
      hasCancelled = true;
      at += 1500;
      send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
      return true;
    };
    const act = (client: BackendClient) => client.say("hello", { intercept: cancelLater });
    await recordCassette({ url, transport: "h2", tools: {} }, act, file, () => at++);
    const { code, stdout } = await run("--to", url, "--token-from", "REPLAY_TOKEN", "--paced", "--json");
    const [call] = JSON.parse(stdout).calls as { ms: number; result: string }[];
    expect([code, call?.result]).toEqual([0, "same"]);
    expect(call?.ms).toBeGreaterThanOrEqual(1500);
  });

  it("SEC-13 sends nothing to another machine without --yes", async () => {
    await record("@sim say one");
    const { code, stderr } = await run("--to", "https://backend.example", "--token-from", "REPLAY_TOKEN");
    expect([code, stderr]).toEqual([78, expect.stringContaining("neither on this machine nor the configured backend")]);
  });

  it("a corrupt, cut, foreign or other file: one sentence each, and what can be read is read", async () => {
    await record("@sim say one");
    const whole = readFileSync(file);
    const command = (...args: string[]) =>
      excursor(args, { environment: { EXCURSOR_HOME: join(folder, "home"), REPLAY_TOKEN: TOKEN } }).exited;
    const cases = [
      [
        "corrupt",
        Buffer.concat([whole, Buffer.alloc(100, 7)]),
        0,
        /is damaged after byte \d+; the rest cannot be read/,
      ],
      ["cut", whole.subarray(0, -3), 0, /ends in the middle of a record, after byte \d+/],
      ["foreign", Buffer.from("PK\u0003\u0004 no capture at all"), 65, /is not a capture/],
      ["other", Buffer.from("excursor-capture 9\n"), 65, /capture of another version of Excursor/],
    ] as const;
    const url = await startBackend({ script: "@sim say one" });
    for (const [name, content, code, words] of cases) {
      writeFileSync(file, content);
      const inspected = await command("inspect", file);
      expect([name, inspected.code, inspected.stderr]).toEqual([name, code, expect.stringMatching(words)]);
      expect(inspected.stdout.includes("/agent.v1.AgentService/Run")).toBe(code === 0);
      const played = await run("--to", url, "--token-from", "REPLAY_TOKEN");
      expect([name, played.code, played.stderr]).toEqual([name, code, expect.stringMatching(words)]);
      const drift = await command("drift", file);
      expect([name, drift.code, drift.stderr]).toEqual([name, code, expect.stringMatching(words)]);
    }
    const cassette = await command("sim", "--port", "0", "--cassette", file);
    expect([cassette.code, cassette.stderr]).toEqual([65, expect.stringMatching(/another version/)]);
    const empty = await command("drift", "--sdk", folder);
    expect([empty.code, empty.stderr]).toEqual([65, expect.stringMatching(/No schema of Cursor was found/)]);
  });

  it("says what is wrong in one sentence", async () => {
    writeFileSync(file, "mine");
    const url = await startBackend();
    expect(await run("--to", url)).toMatchObject({ code: 65, stderr: expect.stringContaining("is not a capture") });
    rmSync(file);
    await record("@sim say one");
    const absent = await run("--to", url, "--token-from", "NO_SUCH");
    expect(absent).toMatchObject({ code: 78, stderr: expect.stringContaining("variable NO_SUCH is not set") });
    const odd = await run("--to", "nowhere");
    expect(odd).toMatchObject({ code: 78, stderr: expect.stringContaining("not an http or https URL") });
    const unsigned = await run("--to", url);
    expect(unsigned).toMatchObject({ code: 1, stdout: expect.stringContaining("unauthenticated") });
  });
});
