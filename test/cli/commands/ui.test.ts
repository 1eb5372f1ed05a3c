import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { excursor } from "../support/excursor.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-ui-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (...args: string[]) => excursor(args, { environment: { EXCURSOR_HOME: home } });

async function startDemo(): Promise<string> {
  const { firstLine } = run("serve", "--demo", "--port", "0");
  return (await firstLine()).slice("ready ".length);
}

it("prints a link that signs in once, and nothing else on stdout", async () => {
  const url = await startDemo();
  const { code, stdout, stderr } = await run("ui", "--no-open", "--url", url).exited;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ui\/link\/[\w-]{43}\n$/)]);
  expect(stderr).toBe("Open this link within 60 seconds. It works once:\n");
  const open = () => fetch(stdout.trim(), { redirect: "manual" });
  expect([(await open()).status, (await open()).status]).toEqual([303, 403]);
});

it("is named by serve, with its address and how to sign in", async () => {
  const { firstLine, exited, child } = run("serve", "--demo", "--port", "0");
  const url = (await firstLine()).slice("ready ".length);
  child.kill("SIGTERM");
  const { stderr } = await exited;
  expect(stderr).toMatch(new RegExp(`dashboard  ${url}/ui   \\(sign in with: .*excursor.* ui\\)`));
});

it("prints JSON for scripts", async () => {
  const url = await startDemo();
  const { stdout } = await run("ui", "--json", "--url", url).exited;
  expect(JSON.parse(stdout)).toEqual({ url: expect.stringContaining(`${url}/ui/link/`), expiresInMs: 60_000 });
});

it("opens the browser, without a shell (SEC-43)", async () => {
  const url = await startDemo();
  const browser = join(home, "browser.sh");
  const seen = join(home, "seen");
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > "${seen}.part" && mv "${seen}.part" "${seen}"\n`, {
    mode: 0o755,
  });
  const child = excursor(["ui", "--url", url], { environment: { EXCURSOR_HOME: home, BROWSER: browser } });
  const { stdout, stderr } = await child.exited;
  expect(stderr).toContain("opens in your browser");
  await expect.poll(() => readFileSync(seen, "utf8"), { timeout: 15_000 }).toBe(stdout.trim());
});

it("says what to do without a gateway, and with a wrong key", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  const none = await run("ui", "--no-open", "--port", String(port)).exited;
  expect([none.code, none.stdout]).toEqual([69, ""]);
  expect(none.stderr).toContain("Start one with `excursor serve`.");
  const url = await startDemo();
  const wrong = await run("ui", "--no-open", "--url", url, "--key", "a-wrong-key-0123456789").exited;
  expect([wrong.code, wrong.stdout]).toEqual([77, ""]);
});
