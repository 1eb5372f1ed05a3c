import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../../gateway/support/gateway-process.ts";

function start(home: string, ...args: string[]) {
  const child = spawn(process.execPath, ["bin/excursor.js", "run", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, EXCURSOR_HOME: home, EXCURSOR_KEY: KEY, ANTHROPIC_API_KEY: "of the shell" },
  });
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const done = once(child, "close").then(async ([code]) => ({ code, stdout: await stdout, stderr: await stderr }));
  return { child, done };
}

const NAMES = ["CURSOR_BACKEND_URL", "CURSOR_API_ENDPOINT", "CURSOR_API_BASE_URL", "CURSOR_API_KEY"].concat([
  "OPENAI_BASE_URL",
  "OPENAI_API_KEY",
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_API_KEY",
]);
const PRINT = `process.stdout.write(JSON.stringify(${JSON.stringify(NAMES)}.map((name) => process.env[name]))); process.exit(7)`;

describe("excursor run", () => {
  it("leads the clients of a program here, and ends with its exit code", async () => {
    const { start: serve, home } = await setUpGateway();
    const { url, cursorUrl = "" } = await serve("--cursor-face", "--cursor-port", "0");
    for (const where of [[], ["--url", url, "--cursor-url", cursorUrl]]) {
      const { code, stdout, stderr } = await start(home, ...where, "--with-key", "--", "node", "-e", PRINT).done;
      expect([code, stderr]).toEqual([7, ""]);
      const face = [cursorUrl, cursorUrl, cursorUrl, KEY];
      expect(JSON.parse(stdout)).toEqual([...face, `${url}/v1`, KEY, url, KEY, ""]);
    }
  });

  it.skipIf(process.platform === "win32")(
    "gives Cursor's command line both endpoints and a config folder",
    async () => {
      const { start: serve, home } = await setUpGateway();
      const { url, cursorUrl = "" } = await serve("--cursor-face", "--cursor-port", "0");
      mkdirSync(join(home, "bin"));
      const program = join(home, "bin", "cursor-agent");
      writeFileSync(program, '#!/bin/sh\nprintf "%s|" "$@" "$CURSOR_CONFIG_DIR"\n', { mode: 0o755 });
      const where = ["--url", url, "--cursor-url", cursorUrl];
      const { stdout } = await start(home, ...where, "--", program, "-p", "--trust", "hello world").done;
      const folder = join(home, "cursor-agent");
      const given = ["-e", cursorUrl, "--agent-endpoint", cursorUrl, "-p", "--trust", "hello world", folder];
      expect(stdout.split("|").slice(0, -1)).toEqual(given);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    },
  );

  it("passes signals on", async () => {
    const { start: serve, home } = await setUpGateway();
    await serve("--cursor-face", "--cursor-port", "0");
    const script = "process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000); console.log('up')";
    const { child, done } = start(home, "--", "node", "-e", script);
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect((await done).code).toBe(9);
  });

  it("says what is not there", async () => {
    const { start: serve, home } = await setUpGateway();
    const none = await start(home, "--", "node").done;
    expect([none.code, none.stderr]).toEqual([69, expect.stringContaining("No gateway answers")]);
    const { stop } = await serve();
    const faceless = await start(home, "--", "node").done;
    expect([faceless.code, faceless.stderr]).toEqual([69, expect.stringContaining("serve --cursor-face")]);
    await stop();
    await serve("--cursor-face", "--cursor-port", "0");
    const unknown = await start(home, "--", "no-such-program").done;
    expect([unknown.code, unknown.stderr]).toEqual([78, expect.stringContaining("no-such-program")]);
  });
});
