import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isAfter } from "../../../src/cli/actions/install/update.ts";
import { version } from "../../../src/cli/version.ts";
import { excursor } from "../support/excursor.ts";

/** Runs `excursor update` with an npm that answers this, and records that it was asked. */
function update(npm: string, ...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "excursor-npm-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "npm"), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(folder, "npm"), 0o755);
  return excursor(["update", ...flags], { environment: { PATH: `${folder}:${process.env["PATH"]}` } }).exited;
}

it("asks nobody unless it is told to", async () => {
  const { code, stdout } = await update("exit 1");
  expect(code).toBe(0);
  expect(stdout).toContain("npm install -g excursor@latest");
});

it("tells whether there is a newer version", async () => {
  expect((await update("echo '\"99.0.0\"'", "--check")).stdout).toContain("Excursor 99.0.0 is available");
  const same = await update(`echo '"${version()}"'`, "--check", "--json");
  expect(JSON.parse(same.stdout)).toEqual({ current: version(), newest: version(), isNewer: false, command: null });
});

it("says why npm could not tell", async () => {
  const failed = await update("echo 'npm error code ENOTFOUND\nnpm error network is away' >&2; exit 1", "--check");
  expect(failed).toMatchObject({ code: 69, stderr: expect.stringContaining("network is away") });
  expect(await update("echo hello", "--check")).toMatchObject({ code: 69 });
});

it.each([
  ["1.0.0", "0.9.9", true],
  ["0.10.0", "0.9.0", true],
  ["0.9.0", "0.9.0", false],
  ["1.0.0", "1.0.0-rc.1", true],
  ["1.0.0-rc.1", "1.0.0", false],
  ["1.0.0-rc.2", "1.0.0-rc.1", true],
])("%s after %s: %s", (a, b, isLater) => expect(isAfter(a, b)).toBe(isLater));
