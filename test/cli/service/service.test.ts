import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { launchdAgent } from "../../../src/cli/service/launchd-agent.ts";
import { systemdUnit } from "../../../src/cli/service/systemd-unit.ts";
import { excursor } from "../support/excursor.ts";

/** Records its calls, and knows one unit. */
const FAKE_SYSTEMCTL = `#!/bin/sh
echo "$*" >> "$FAKE/calls"
[ -e "$FAKE/no-bus" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
case "$*" in
  *daemon-reload*) [ -e "$FAKE/broken" ] && { echo "Failed to reload: it is broken" >&2; exit 1; } ;;
  *restart*) echo active > "$FAKE/state" ;;
  *stop*) echo inactive > "$FAKE/state" ;;
  *show*) cat "$FAKE/state" 2>/dev/null || echo inactive ;;
esac
exit 0
`;

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "excursor-service-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "systemctl"), FAKE_SYSTEMCTL);
  writeFileSync(join(bin, "journalctl"), '#!/bin/sh\necho "log of $*"\n');
  for (const name of ["systemctl", "journalctl"]) chmodSync(join(bin, name), 0o755);
  const environment = {
    PATH: `${bin}:${process.env["PATH"]}`,
    FAKE: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    EXCURSOR_HOME: join(folder, "home"),
  };
  const runWith = (extra: Record<string, string>, ...args: string[]) =>
    excursor(["service", ...args], { environment: { ...environment, ...extra } }).exited;
  const run = (...args: string[]) => runWith({}, ...args);
  return { folder, run, runWith, unit: join(folder, "config/systemd/user/excursor.service") };
}

describe.skipIf(process.platform !== "linux")("excursor service", () => {
  it("installs, shows, stops, starts and removes the service", async () => {
    const { folder, run, unit } = setUp();
    expect(await run("status")).toMatchObject({ code: 3, stdout: expect.stringMatching(/not installed/) });
    expect(await run("install", "--demo")).toMatchObject({ code: 0, stdout: expect.stringContaining(unit) });
    expect(readFileSync(unit, "utf8")).toContain(`"${process.execPath}"`);
    expect(readFileSync(unit, "utf8")).toContain(`Environment="EXCURSOR_HOME=${join(folder, "home")}"`);
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe(
      "--user daemon-reload\n--user enable excursor.service\n--user reset-failed excursor.service\n--user restart excursor.service\n",
    );
    const status = await run("status", "--json");
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toEqual({ manager: "systemd", file: unit, state: "running", problem: null });
    expect(await run("stop")).toMatchObject({ code: 0 });
    expect(await run("status")).toMatchObject({ code: 3, stdout: expect.stringMatching(/is stopped/) });
    expect(await run("start")).toMatchObject({ code: 0 });
    expect((await run("logs", "-n", "5")).stdout).toContain("--unit excursor.service --lines 5");
    expect(await run("uninstall")).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "config/systemd"))).toBe(false);
    expect(await run("uninstall")).toMatchObject({ code: 0, stdout: "The service is not installed.\n" });
  }, 60_000);

  it("runs with the settings of the shell, but without its secrets", async () => {
    const { run, runWith, unit } = setUp();
    const given = {
      EXCURSOR_PORT: "18799",
      EXCURSOR_TOKEN: "a-secret-token",
      HTTPS_PROXY: "http://me:hidden@proxy:3128",
      NO_PROXY: "intern.example",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=hidden",
      OTEL_SERVICE_NAME: "my gateway",
      UNRELATED: "x",
    };
    const installed = await runWith(given, "install");
    expect(installed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("does not get EXCURSOR_TOKEN, HTTPS_PROXY, OTEL_EXPORTER_OTLP_HEADERS"),
    });
    const text = readFileSync(unit, "utf8");
    for (const line of ["EXCURSOR_PORT=18799", "NO_PROXY=intern.example", "OTEL_SERVICE_NAME=my gateway"]) {
      expect(text).toContain(`Environment="${line}"\n`);
    }
    expect(text).toMatch(/Environment="PATH=.+"\n/);
    expect(text).not.toMatch(/secret-token|hidden|UNRELATED/);
    expect((await runWith({ HTTPS_PROXY: "http://proxy:3128" }, "install")).stderr).toBe("");
    expect(readFileSync(unit, "utf8")).toContain('Environment="HTTPS_PROXY=http://proxy:3128"\n');
    expect(await runWith({ EXCURSOR_PORT: "abc" }, "install")).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("EXCURSOR_PORT"),
    });
    expect(await run("uninstall")).toMatchObject({ code: 0 });
  }, 60_000);

  it("leaves nothing behind if the manager fails, and says what to do", async () => {
    const { folder, run, unit } = setUp();
    writeFileSync(join(folder, "broken"), "");
    const broken = await run("install");
    expect(broken).toMatchObject({ code: 74, stderr: expect.stringContaining("it is broken") });
    expect(existsSync(join(folder, "config/systemd"))).toBe(false);
    writeFileSync(join(folder, "no-bus"), "");
    const away = await run("install");
    expect(away).toMatchObject({ code: 69, stderr: expect.stringContaining("log in directly") });
    expect(existsSync(join(folder, "config/systemd"))).toBe(false);

    for (const name of ["broken", "no-bus"]) rmSync(join(folder, name));
    await run("install");
    const links = join(dirname(unit), "default.target.wants");
    mkdirSync(links);
    symlinkSync(unit, join(links, "excursor.service"));
    writeFileSync(join(folder, "no-bus"), "");
    expect(await run("uninstall")).toMatchObject({ code: 0, stdout: expect.stringContaining("was not stopped") });
    expect(existsSync(join(folder, "config/systemd"))).toBe(false);
  }, 60_000);

  it("shows no log if there is none", async () => {
    const { folder, run } = setUp();
    expect(await run("logs")).toMatchObject({ code: 78, stderr: expect.stringContaining("not installed") });
    await run("install");
    writeFileSync(join(folder, "bin/journalctl"), "#!/bin/sh\necho no journal >&2\nexit 1\n");
    expect(await run("logs")).toMatchObject({
      code: 74,
      stderr: expect.stringMatching(/no journal\n.*journalctl could not show the log/s),
    });
  }, 60_000);

  it("says that a half-installed service must be installed again", async () => {
    const { run, unit } = setUp();
    expect(await run("start")).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("`excursor service install`"),
    });
    await run("install");
    writeFileSync(unit, readFileSync(unit, "utf8").replace(process.execPath, "/gone/node"));
    expect((await run("status")).stdout).toMatch(/\/gone\/node, which does not exist.*install` again/s);
    expect(await run("start")).toMatchObject({ code: 78, stderr: expect.stringContaining("/gone/node") });
    expect(await run("stop")).toMatchObject({ code: 0 });
    writeFileSync(unit, "[Unit]\n");
    expect(await run("start")).toMatchObject({ code: 78, stderr: expect.stringContaining("not complete") });
  }, 60_000);
});

const PLAN = {
  node: "/opt/my node/bin/node",
  program: '/home/a$b/100%/"excursor".js',
  flags: ["--demo"],
  environment: { EXCURSOR_HOME: "/home/a b/excursor", PATH: "/usr/bin" },
};

it("the unit is hardened, and quotes its paths", () => {
  const unit = systemdUnit(PLAN);
  for (const line of ["NoNewPrivileges=yes", "ProtectSystem=full", "PrivateTmp=yes", "UMask=0077"]) {
    expect(unit).toContain(`\n${line}\n`);
  }
  expect(unit).toContain(
    String.raw`ExecStart="/opt/my node/bin/node" "/home/a$$b/100%%/\"excursor\".js" "serve" "--demo"`,
  );
  const odd = { ...PLAN, environment: { EXCURSOR_HOME: '/home/a$b/100%/"c"', EXCURSOR_MODELS: "{\n}" } };
  expect(systemdUnit(odd)).toContain(
    String.raw`Environment="EXCURSOR_HOME=/home/a$b/100%%/\"c\""
Environment="EXCURSOR_MODELS={\n}"
`,
  );
});

it.skipIf(spawnSync("systemd-analyze", ["--version"]).error !== undefined)("systemd accepts the unit", () => {
  const folder = mkdtempSync(join(tmpdir(), "excursor-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "excursor.service");
  const verify = () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["--user", "verify", "--man=no", file], {
      encoding: "utf8",
      env: { ...process.env, XDG_RUNTIME_DIR: folder },
    });
    return { status, stderr };
  };
  const plan = { ...PLAN, node: process.execPath, program: join(process.cwd(), "bin/excursor.js") };
  writeFileSync(file, systemdUnit(plan));
  expect(verify()).toEqual({ status: 0, stderr: "" });
  writeFileSync(file, systemdUnit(plan).replace("ExecStart=", "ExecStart=relative"));
  expect(verify()).not.toEqual({ status: 0, stderr: "" });
});

it("the agent for launchd is as before (not tried on a Mac)", async () => {
  await expect(
    launchdAgent({ ...PLAN, program: "/a&b/excursor.js" }, "/Users/a/Library/Logs/excursor.log"),
  ).toMatchFileSnapshot("../../golden/launchd-agent.plist");
});
