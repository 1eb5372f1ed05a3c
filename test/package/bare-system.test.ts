import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openTerminal } from "../cli/support/terminal.ts";
import { type BareSystem, CAN_HAVE_SYSTEM, makeBareSystem, USER } from "./support/bare-system.ts";

const HOME = "/home/tester";
/** Another user's port must not matter. */
const ENVIRONMENT = { HOME, EXCURSOR_PORT: "18791", EXCURSOR_KEYCHAIN: "off" };

/** A stand-in for systemd: there is none in the system. Like systemd, it starts the service without the caller's variables. */
const SYSTEMCTL = `#!/bin/sh
unit=$HOME/.config/systemd/user/excursor.service
case "$*" in
  *restart*) cd /; sh -c "exec env -i HOME=$HOME $(sed -n 's/^Environment=//p' "$unit" | tr '\\n' ' ') $(sed -n 's/^ExecStart=//p' "$unit")" > /tmp/service.log 2>&1 & echo $! > /tmp/service.pid ;;
  *stop*) kill "$(cat /tmp/service.pid)" 2> /dev/null || true ;;
  *show*) kill -0 "$(cat /tmp/service.pid)" && echo active || echo inactive ;;
esac
`;

describe.skipIf(!CAN_HAVE_SYSTEM)("a system with nothing but Node 22.13 and npm", () => {
  let system: BareSystem;
  let before: readonly string[];

  const enter = (user: number, environment: Record<string, string>, ...words: string[]) => {
    const [program = "", ...args] = system.command(user, environment, ...words);
    return spawnSync(program, args, { encoding: "utf8", timeout: 300_000 });
  };
  const claude = () => join(system.root, HOME, ".claude/settings.json");

  beforeAll(() => {
    system = makeBareSystem(inject("tarball"));
    mkdirSync(join(system.root, HOME, ".claude"));
    writeFileSync(claude(), '{ "theme": "dark" }\n');
    enter(0, {}, "chown", "-R", `${USER}:${USER}`, HOME);
    writeFileSync(join(system.root, "usr/bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
    before = system.files();
    const installed = enter(0, { HOME: "/root" }, "npm", "install", "-g", "/excursor.tgz");
    expect(installed.status, installed.stderr).toBe(0);
  });

  afterAll(() => system?.remove());

  it("leads another user than the installer's from the wizard to an answer, a client and a service", async () => {
    const terminal = openTerminal(system.command(USER, ENVIRONMENT, "excursor"), { PATH: process.env["PATH"] ?? "" });
    await terminal.sees(/Choose 1 or 2 \[1\]:/);
    terminal.press("Enter");
    await terminal.sees(/first answer in \d+ ms: "Hello from the simulator\."/);
    await terminal.sees(/Connect Claude Code\?/);
    terminal.press("Enter");
    await terminal.sees(/Claude Code is connected/);
    await terminal.sees(/in demo mode\)\? \[y\/N\]/);
    terminal.type("y");
    terminal.press("Enter");
    await terminal.sees(/the service is installed .* and answers/);
    await terminal.sees(/Open the dashboard\?/);
    terminal.press("Enter");
    await terminal.sees(/Open this link within \d+ seconds/);
    await terminal.sees(/exit 0/);
    expect(readFileSync(claude(), "utf8")).toContain(":18791");

    const unit = join(system.root, HOME, ".config/systemd/user/excursor.service");
    const outside = join(system.root, "tmp/excursor.service");
    writeFileSync(outside, readFileSync(unit, "utf8").replaceAll('"/usr/local/', `"${system.root}/usr/local/`));
    const verified = spawnSync("systemd-analyze", ["--user", "verify", "--man=no", outside], {
      encoding: "utf8",
      env: { ...process.env, XDG_RUNTIME_DIR: join(system.root, "tmp") },
    });
    if (verified.error === undefined) expect(verified).toMatchObject({ status: 0, stderr: "" });
  });

  it("works with a proxy variable and without a terminal", () => {
    const environment = {
      ...ENVIRONMENT,
      EXCURSOR_PORT: "0",
      HTTPS_PROXY: "http://127.0.0.1:9",
      HTTP_PROXY: "http://127.0.0.1:9",
    };
    expect(enter(USER, environment, "excursor", "chat", "--demo", "@sim say hello")).toMatchObject({
      status: 0,
      stdout: "hello\n",
    });
    expect(enter(USER, environment, "excursor").stderr).toContain("Usage: excursor");
  });

  it("says what to do with a read-only home and without rights to the prefix", () => {
    const readOnly = { ...ENVIRONMENT, HOME: "/opt", EXCURSOR_PORT: "18792" };
    const refused = enter(USER, readOnly, "excursor", "setup", "--yes", "--demo");
    expect(refused.status).toBe(77);
    expect(refused.stderr).toMatch(/\/opt\/\.config.*\nSet EXCURSOR_HOME to a folder that you can write to/);
    const elsewhere = { ...readOnly, EXCURSOR_HOME: "/tmp/excursor-home" };
    expect(enter(USER, elsewhere, "excursor", "chat", "--demo", "@sim say hello").stdout).toBe("hello\n");
    const denied = enter(USER, ENVIRONMENT, "npm", "install", "-g", "/excursor.tgz");
    expect(denied.status).not.toBe(0);
    expect(denied.stderr).toContain("EACCES");
  });

  it("leaves nothing behind", () => {
    const reset = enter(USER, ENVIRONMENT, "excursor", "reset", "--yes");
    expect(reset.status, reset.stderr).toBe(0);
    expect(readFileSync(claude(), "utf8")).toBe('{ "theme": "dark" }\n');
    expect(enter(0, { HOME: "/root" }, "npm", "uninstall", "-g", "excursor").status).toBe(0);
    expect(existsSync(join(system.root, "usr/local/bin/excursor"))).toBe(false);
    expect(system.files()).toEqual(before);
  });
});
