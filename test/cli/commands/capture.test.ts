import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { SimOptions } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { harProblems } from "../../capture/support/har-problems.ts";
import { excursor } from "../support/excursor.ts";

const TOKEN = "tester-token-0123456789";
const MAIL = "ada.lovelace@example.com";
let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-capture-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const start = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(args, { environment: { EXCURSOR_HOME: join(folder, "home"), EXCURSOR_TOKEN: TOKEN, ...environment } });
const run = (...args: string[]) => start(args).exited;

async function startBackend(options: Partial<SimOptions> = {}): Promise<string> {
  const sim = await startSim(options);
  onTestFinished(() => sim.close());
  return sim.url;
}

/** A program that asks a model through each address that it was given. */
const asking = (text: string, more: number) => `
  const ask = (url, headers, body) => fetch(url, { method: "POST", headers, body });
  await ask(process.env.CURSOR_BACKEND_URL + "/aiserver.v1.ServerConfigService/GetServerConfig?api_key=query-secret-12",
    { "content-type": "application/proto", authorization: "Bearer of-the-client-9876543210" }, "");
  const answer = await ask(process.env.OPENAI_BASE_URL + "/chat/completions",
    { "content-type": "application/json", authorization: "Bearer " + process.env.OPENAI_API_KEY },
    JSON.stringify({ model: "auto", messages: [{ role: "user", content: ${JSON.stringify(text)} + "\\n" + "x".repeat(${more}) }] }));
  console.log(JSON.parse(await answer.text()).choices[0].message.content);
  process.exit(3);`;

const node = (script: string) => ["node", "--input-type=module", "-e", script];

async function makeCapture(
  text = `@sim say write to ${MAIL} now`,
  flags: readonly string[] = [],
  more = 0,
  environment = {},
) {
  const upstream = await startBackend();
  const command = ["--", ...node(asking(text, more))];
  return start(["capture", "--out", file, "--upstream", upstream, ...flags, ...command], environment).exited;
}

describe("excursor capture", { timeout: 60_000 }, () => {
  it("records what a program says, and ends with its exit code", async () => {
    const { code, stdout, stderr } = await makeCapture();
    expect([code, stdout]).toEqual([3, `write to ${MAIL} now\n`]);
    expect(stderr).toMatch(/Captured \d+ calls, \d+ messages, 1 conversations, .* KB: .*a\.capture\n/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const bytes = readFileSync(file);
    for (const secret of [TOKEN, "of-the-client-9876543210", "query-secret-12"]) {
      expect([secret, bytes.includes(secret)]).toEqual([secret, false]);
    }
  });

  it("shows calls, the timeline of one, and its messages by our schema", async () => {
    await makeCapture();
    const { stdout: table } = await run("inspect", file);
    expect(table).toMatch(/^CALL +TIME +METHOD +PATH +STATUS +DURATION/);
    expect(table).toMatch(/POST +\/aiserver\.v1\.ServerConfigService\/GetServerConfig +200/);
    const calls = JSON.parse((await run("inspect", file, "--rpc", "AgentService/Run", "--json")).stdout);
    expect(calls).toMatchObject([{ path: "/agent.v1.AgentService/Run", status: 200, outcome: "ok" }]);
    const asked = JSON.parse((await run("inspect", file, "--rpc", "/v1/chat/completions", "--json")).stdout);
    expect(asked).toMatchObject([{ wire: "client", outcome: "ok", requestId: expect.stringMatching(/./) }]);
    const [{ call, conversation }] = calls;
    const found = await run("inspect", file, "--conversation", conversation, "--json");
    expect(JSON.parse(found.stdout)).toEqual(calls);
    const { stdout: timeline } = await run("inspect", file, "--call", String(call));
    expect(timeline).toMatch(/\+\d+ ms +#\d+ +received +interaction_update\.text_delta +\d+ B/);
    const filter = ["--kind", "text_delta", "--direction", "received"];
    const { stdout: json } = await run("inspect", file, "--call", String(call), ...filter, "--json");
    const { messages } = JSON.parse(json);
    expect(messages[0]).toMatchObject({ type: "agent.v1.AgentServerMessage", kind: "interaction_update.text_delta" });
    const text = messages.map(
      ({ value }: never) =>
        (value as { interactionUpdate: { textDelta: { text: string } } }).interactionUpdate.textDelta.text,
    );
    expect(text.join("")).toMatch(/^write to \w{3}\.\w{8}@\w{7}\.\w{3} now$/);
    const lines = (await run("inspect", file, "--jsonl", ...filter)).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).kind)).toEqual(messages.map(({ kind }: { kind: string }) => kind));
    expect((await run("inspect", file, "--rpc", "no-such")).stdout).toMatch(
      /^None of its \d+ calls fits the filters\.\n$/,
    );
    const none = await run("inspect", file, "--call", "999");
    expect([none.code, none.stderr]).toEqual([65, expect.stringContaining("no call 999")]);
  });

  it("exports HAR 1.2", async () => {
    await makeCapture();
    const har = join(folder, "a.har");
    expect((await run("inspect", file, "--har", har)).code).toBe(0);
    const content = JSON.parse(readFileSync(har, "utf8"));
    expect(harProblems(content)).toEqual([]);
    expect(harProblems({ log: { version: "1.2" } })).not.toEqual([]);
    const entry = content.log.entries.find(({ request }: { request: { url: string } }) => request.url.endsWith("/Run"));
    expect(entry._connectMessages).toContainEqual(
      expect.objectContaining({ direction: "sent", kind: "run_request", type: "agent.v1.AgentClientMessage" }),
    );
    expect(readFileSync(har).includes(MAIL)).toBe(false);
  });

  it("shows a run over HTTP/1.1 as one timeline, with its uploads", async () => {
    await makeCapture("@sim say hi", [], 0, { EXCURSOR_TRANSPORT: "h1" });
    const calls = JSON.parse((await run("inspect", file, "--json")).stdout) as { call: number; path: string }[];
    const [download] = calls.filter(({ path }) => path.endsWith("/RunSSE"));
    const uploads = calls.filter(({ path }) => path.endsWith("/BidiAppend"));
    expect(uploads.length).toBeGreaterThan(1);
    const { messages } = JSON.parse((await run("inspect", file, "--call", String(download?.call), "--json")).stdout);
    const kinds = (messages as { kind: string; direction: string }[]).map(
      ({ direction, kind }) => `${direction} ${kind}`,
    );
    const [asked, answered, ended] = [
      "sent run_request",
      "received interaction_update.text_delta",
      "received interaction_update.turn_ended",
    ].map((kind) => kinds.indexOf(kind));
    expect(asked).toBeGreaterThanOrEqual(0);
    expect(answered).toBeGreaterThan(asked ?? 0);
    expect(ended).toBeGreaterThan(answered ?? 0);
    const { stdout } = await run("inspect", file, "--call", String(uploads[0]?.call));
    expect(stdout).toMatch(/received +interaction_update\.turn_ended/);
  });

  it("ends at its limit, says so, and the program goes on", async () => {
    const { code, stdout, stderr } = await makeCapture("@sim say ok", [], 200_000, {
      EXCURSOR_LIMITS_CAPTURE_BYTES: "100000",
    });
    expect(code).toBe(3);
    expect(stdout).toMatch(/^ok/);
    expect(stderr).toContain("It ended early: it has reached its limit of 100000 bytes.");
    const { stderr: told } = await run("inspect", file);
    expect(told).toContain("The capture ended early: it has reached its limit");
    expect(statSync(file).size).toBeLessThanOrEqual(100_000);
  });

  it("says what is wrong in one sentence", async () => {
    const missing = await run("capture", "--out", file, "--", "no-such-program");
    expect([missing.code, missing.stderr]).toEqual([
      78,
      expect.stringContaining("The program no-such-program cannot be started: ENOENT"),
    ]);
    expect(existsSync(file)).toBe(false);
    const neither = await run("capture");
    expect([neither.code, neither.stderr]).toEqual([
      78,
      expect.stringContaining("either a program to run, after --, or --listen"),
    ]);
    writeFileSync(file, "mine");
    const taken = await run("capture", "--out", file, "--", "node");
    expect([taken.code, taken.stderr]).toEqual([74, expect.stringContaining("Cannot create the capture")]);
    expect(readFileSync(file, "utf8")).toBe("mine");
    writeFileSync(file, "excursor-capture 2\n");
    const older = await run("inspect", file);
    expect([older.code, older.stderr]).toEqual([
      65,
      expect.stringContaining("another version of Excursor, and was left"),
    ]);
    writeFileSync(file, "mine");
    const foreign = await run("inspect", file);
    expect([foreign.code, foreign.stderr]).toEqual([65, expect.stringContaining("is not a capture")]);
    const absent = await run("inspect", join(folder, "none"));
    expect([absent.code, absent.stderr]).toEqual([65, expect.stringContaining("could not be read (ENOENT)")]);
  });

  it("reads a truncated file up to where it was cut", async () => {
    await makeCapture();
    truncateSync(file, statSync(file).size - 7);
    const { code, stdout, stderr } = await run("inspect", file);
    expect(code).toBe(0);
    expect(stdout).toContain("/agent.v1.AgentService/Run");
    expect(stderr).toMatch(/ends in the middle of a record, after byte \d+/);
  });
});

describe("excursor serve --capture", { timeout: 60_000 }, () => {
  it("SEC-52 keeps a readable capture in the home folder after kill -9, and removes old ones", async () => {
    const upstream = await startBackend();
    const captures = join(folder, "home", "captures");
    const serve = async () => {
      const { child, firstLine, exited } = start([
        "serve",
        "--port",
        "0",
        "--json",
        "--upstream",
        upstream,
        "--key",
        "a-key-for-these-tests",
        "--capture",
      ]);
      const { url, captureFile } = JSON.parse(await firstLine());
      return { child, exited, url, captureFile };
    };
    const first = await serve();
    expect(first.captureFile.startsWith(captures)).toBe(true);
    const answer = await fetch(`${first.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer a-key-for-these-tests" },
      body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "@sim say hi" }] }),
    });
    expect(answer.status).toBe(200);
    const doctor = await run("doctor", "--quick", "--json");
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({ id: "capture", status: "warn", text: expect.stringContaining(first.captureFile) }),
    );
    // Records wait for a tenth of a second, which a kill may lose.
    await expect.poll(() => readFileSync(first.captureFile).includes("/agent.v1.AgentService/Run")).toBe(true);
    first.child.kill("SIGKILL");
    await first.exited;
    expect((await run("doctor", "--quick", "--json")).stdout).not.toContain("A capture is running");
    expect((await run("inspect", first.captureFile)).stdout).toContain("/agent.v1.AgentService/Run");
    const longAgo = new Date(Date.now() - 8 * 24 * 60 * 60 * 1000);
    utimesSync(first.captureFile, longAgo, longAgo);
    const second = await serve();
    second.child.kill("SIGTERM");
    await second.exited;
    expect(readdirSync(captures).map((name) => join(captures, name))).toEqual([second.captureFile]);
  });

  it("goes on when the disk is full, and the capture says where it ends", async (context) => {
    const disk = join(folder, "disk");
    try {
      execFileSync("mkdir", [disk]);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], { stdio: "ignore" });
    } catch {
      context.skip();
    }
    file = join(disk, "a.capture");
    try {
      const { code, stdout, stderr } = await makeCapture("@sim say ok", [], 200_000);
      expect([code, stdout.slice(0, 2)]).toEqual([3, "ok"]);
      expect(stderr).toContain("It ended early: the disk refused it (ENOSPC)");
      const { stdout: table, stderr: told } = await run("inspect", file);
      expect(table).toContain("POST");
      expect(told).toMatch(/ends in the middle of a record, after byte \d+/);
    } finally {
      execFileSync("umount", ["-l", disk]);
    }
  });
});

it("follows a capture while it is written", { timeout: 60_000 }, async () => {
  const upstream = await startBackend();
  const capture = start(["capture", "--out", file, "--upstream", upstream, "--listen"]);
  const [, url] = /^cursor (\S+)/.exec(await capture.firstLine()) ?? [];
  const inspect = start(["inspect", file, "--follow"]);
  const ask = () =>
    fetch(`${url}/aiserver.v1.ServerConfigService/GetServerConfig`, {
      method: "POST",
      headers: { "content-type": "application/proto", authorization: `Bearer ${TOKEN}` },
    });
  await ask();
  expect(await inspect.firstLine()).toMatch(/#1 +received +GetServerConfigResponse/);
  const filters = ["--rpc", "getserverconfig", "--direction", "received", "--kind", "ServerConfig"];
  const filtered = start(["inspect", file, "--follow", "--jsonl", ...filters]);
  const nothing = start(["inspect", file, "--follow", "--rpc", "AgentService/Run"]);
  const sentOnly = start(["inspect", file, "--follow", "--direction", "sent"]);
  expect(JSON.parse(await filtered.firstLine())).toMatchObject({ call: 1, direction: "received" });
  await ask();
  await expect.poll(() => inspect.output.stdout).toMatch(/#2 /);
  await expect.poll(() => filtered.output.stdout.trim().split("\n").length).toBe(2);
  expect([nothing.output.stdout, sentOnly.output.stdout]).toEqual(["", ""]);
  capture.child.kill("SIGINT");
  const { code, stderr } = await capture.exited;
  expect([code, stderr]).toEqual([0, expect.stringContaining("Captured 2 calls")]);
});
