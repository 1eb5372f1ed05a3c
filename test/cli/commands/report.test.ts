import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { excursor } from "../support/excursor.ts";

/** Each must be in no report. */
const PLANTED = {
  key: "exc_planted-gateway-key-0123456789abcdef",
  token: "planted-token-of-the-account-0123456789",
  variable: "planted-password-of-a-database",
  mail: "ada.lovelace@example.com",
  upstreamKey: "planted-key-of-an-upstream-42",
  logged: "sk-planted-0123456789abcdefghij",
};
let folder = "";
let home = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-report-"));
  home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(
    join(home, "config.json"),
    JSON.stringify({ key: PLANTED.key, openai: { key: PLANTED.upstreamKey, baseURL: "http://127.0.0.1:9/v1" } }),
    { mode: 0o600 },
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const start = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  excursor(args, {
    folder,
    environment: {
      EXCURSOR_HOME: home,
      EXCURSOR_TOKEN: PLANTED.token,
      DB_PASSWORD: PLANTED.variable,
      HOME: folder,
      ...more,
    },
  });

const unpack = (file: string): Readonly<Record<string, Buffer>> => {
  const names = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
  return Object.fromEntries(names.map((name) => [name, execFileSync("tar", ["-xzOf", file, name])]));
};

/** A gateway that records, after one request. */
async function serveOne() {
  const sim = await startSim();
  onTestFinished(() => sim.close());
  const upstream = { EXCURSOR_UPSTREAM: sim.url };
  const gateway = start(["serve", "--port", "0", "--json", "--capture"], upstream);
  const { url } = JSON.parse(await gateway.firstLine());
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${PLANTED.key}` },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: `@sim say ${PLANTED.mail} ok` }] }),
  });
  expect(await response.text()).toContain(PLANTED.mail);
  return { ...upstream, EXCURSOR_PORT: new URL(url).port, requestId: response.headers.get("x-request-id") ?? "" };
}

describe("excursor report", { timeout: 90_000 }, () => {
  it("SEC-50 writes one private archive without a planted secret, and lists what is in it", async () => {
    const { requestId, ...environment } = await serveOne();
    const out = join(folder, "a.tar.gz");
    const { code, stdout, stderr } = await start(["report", "--yes", "--out", out], environment).exited;
    expect([code, stdout]).toEqual([0, `${out}\n`]);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const files = unpack(out);
    const names = ["versions.json", "config.json", "doctor.json", "log.jsonl", "last.capture"];
    expect(Object.keys(files)).toEqual(names);
    for (const name of names) expect(stderr).toContain(name);
    for (const [name, bytes] of Object.entries(files)) {
      for (const secret of [...Object.values(PLANTED), folder]) {
        expect([name, secret, bytes.includes(secret)]).toEqual([name, secret, false]);
      }
    }
    expect(JSON.parse(String(files["versions.json"]))).toMatchObject({ node: process.versions.node });
    expect(JSON.parse(String(files["doctor.json"]))).toContainEqual(expect.objectContaining({ id: "node" }));
    expect(JSON.parse(String(files["config.json"]))).toContainEqual(
      expect.objectContaining({ key: "key", value: "[redacted]" }),
    );
    expect(String(files["log.jsonl"])).toContain(requestId);
    const capture = join(folder, "unpacked.capture");
    writeFileSync(capture, files["last.capture"] ?? "");
    expect((await start(["inspect", capture]).exited).stdout).toContain("/agent.v1.AgentService/Run");

    expect(files["last.capture"]?.includes("@sim say")).toBe(true);
    const empty = join(folder, "c.tar.gz");
    await start(["report", "--no-content", "--yes", "--out", empty], environment).exited;
    const withoutContent = unpack(empty)["last.capture"];
    expect(withoutContent?.length).toBe(files["last.capture"]?.length);
    expect(withoutContent?.includes("@sim say")).toBe(false);

    const again = await start(["report", "--yes", "--out", out], environment).exited;
    expect([again.code, again.stderr]).toEqual([74, expect.stringContaining("Cannot write the report")]);

    const one = join(folder, "b.tar.gz");
    const json = await start(["report", "--request", requestId, "--yes", "--json", "--out", one], environment).exited;
    expect(JSON.parse(json.stdout)).toMatchObject({ file: one, parts: expect.arrayContaining(["usage.json"]) });
    const { requests, runs } = JSON.parse(String(unpack(one)["usage.json"]));
    expect(requests).toMatchObject([{ id: requestId, status: 200 }]);
    expect(runs).toHaveLength(1);
    expect(unpack(one)).not.toHaveProperty("last.capture");
  });

  it("takes log lines from a file, masks them, and says what is missing", async () => {
    const log = join(folder, "gateway.log");
    writeFileSync(log, `{"msg":"${PLANTED.logged} ${PLANTED.mail} ${PLANTED.token} in ${folder}/x"}\n`);
    const out = join(folder, "a.tar.gz");
    const { code, stderr } = await start(["report", "--yes", "--log", log, "--out", out]).exited;
    expect([code, stderr]).toEqual([0, expect.stringContaining("Not in it: a capture: there is none")]);
    const text = String(unpack(out)["log.jsonl"]);
    expect(JSON.parse(text).msg).toMatch(/^\S+ \S+@\S+ \S+ in \S+\/x$/);
    for (const secret of [...Object.values(PLANTED), folder]) expect(text).not.toContain(secret);
  });

  it("asks before it writes, and without a terminal writes only with --yes", async () => {
    const out = join(folder, "a.tar.gz");
    const { code, stderr } = await start(["report", "--out", out]).exited;
    expect([code, stderr]).toEqual([78, expect.stringContaining("no terminal to ask on")]);
    expect(existsSync(out)).toBe(false);
    const answer = (text: string) =>
      spawnSync(
        "script",
        ["-qec", `${process.execPath} ${join(process.cwd(), "bin/excursor.js")} report --out ${out}`, "/dev/null"],
        {
          input: text,
          encoding: "utf8",
          env: { ...process.env, EXCURSOR_HOME: home, EXCURSOR_KEYCHAIN: "off", HOME: folder },
        },
      );
    expect(answer("n\n").stdout).toContain("Nothing was written.");
    expect(existsSync(out)).toBe(false);
    expect(answer("y\n").stdout).toContain("[y/N]");
    expect(existsSync(out)).toBe(true);
  });

  it("says what is wrong in one sentence", async () => {
    const unknown = await start(["report", "--request", "no-such", "--yes"]).exited;
    expect([unknown.code, unknown.stderr]).toEqual([65, expect.stringContaining("has no request no-such")]);
    const foreign = join(folder, "foreign");
    writeFileSync(foreign, "mine");
    const refused = await start(["report", "--capture", foreign, "--yes"]).exited;
    expect([refused.code, refused.stderr]).toEqual([65, expect.stringContaining("is not a capture")]);
    expect(readFileSync(foreign, "utf8")).toBe("mine");
  });
});
