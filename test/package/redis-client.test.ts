import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { newFolder, run, tryRun } from "./support/installation.ts";

/** Nothing listens here. */
const REDIS = "redis://127.0.0.1:9";
const PNPM = ["--yes", "pnpm@12.18.0"];

/** Starts a gateway of a cluster without Redis. Returns why it does not start. */
const start = (program: string, folder: string) =>
  tryRun(process.execPath, [program, "serve", "--demo", "--port", "0", "--redis", REDIS], folder, {
    EXCURSOR_HOME: join(folder, "home"),
  });

const MISSING = {
  status: 78,
  stderr: expect.stringContaining("the package @redis/client is not installed.\nInstall it next to Excursor: `npm"),
};
const FOUND = { status: 78, stderr: expect.stringMatching(/Redis at .*127\.0\.0\.1:9/) };

describe("the client for Redis", () => {
  it("is found next to a global installation, which works without it", () => {
    const folder = newFolder();
    const install = (name: string) => run("npm", ["install", "-g", "--prefix", folder, "--no-audit", name], folder);
    const program = join(folder, "lib/node_modules/excursor/bin/excursor.js");
    install(inject("tarball"));
    expect(start(program, folder)).toMatchObject(MISSING);
    install("@redis/client@6");
    expect(start(program, folder)).toMatchObject(FOUND);
  });

  it("is found by an installation of pnpm, which lets packages see only what they declare", () => {
    const folder = join(newFolder(), "project");
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    const program = join(folder, "node_modules/excursor/bin/excursor.js");
    run("npx", [...PNPM, "add", inject("tarball")], folder);
    expect(start(program, folder)).toMatchObject(MISSING);
    run("npx", [...PNPM, "add", "@redis/client@6"], folder);
    expect(start(program, folder)).toMatchObject(FOUND);
  });
});
