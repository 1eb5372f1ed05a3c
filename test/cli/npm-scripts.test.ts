import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BackendClient } from "../sim/support/backend-client.ts";
import { excursor } from "./support/excursor.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

/** Programs that npm finds by itself, on Windows as well. */
const PROGRAMS = ["node", "npm", "vitest", "tsc", "buf", "biome"];

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-shells-"));
  // `-c COMMAND`, as npm calls them.
  for (const [name, command] of [
    ["replaced", "exec $2"],
    ["forking", "$2; exit \\$?"],
  ] as const) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexec /bin/sh -c "${command}"\n`);
    chmodSync(join(folder, name), 0o700);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the npm scripts", () => {
  it.each(Object.entries(scripts))("%s begins with programs, which cmd.exe has as well as sh", (_, script) => {
    for (const command of script.split("&&")) expect(PROGRAMS).toContain(command.trim().split(" ")[0]);
  });
});

describe.skipIf(process.platform === "win32")("a signal to npm", () => {
  it.each([
    ["SIGTERM", "pid", "replaced", { code: 0, signal: null }],
    ["SIGTERM", "group", "replaced", { code: 0, signal: null }],
    ["SIGINT", "pid", "replaced", { code: 0, signal: null }],
    ["SIGINT", "group", "replaced", { code: 0, signal: null }],
    // The shell dies of the signal, and npm then kills itself by the same one.
    ["SIGTERM", "pid", "forking", { code: null, signal: "SIGTERM" }],
    ["SIGTERM", "group", "forking", { code: null, signal: "SIGTERM" }],
    // Not to the pid: dash keeps a SIGINT to itself until its command has ended.
    ["SIGINT", "group", "forking", { code: null, signal: "SIGINT" }],
  ] as const)("%s to its %s drains the server, by a shell that is %s", async (signal, target, shell, expected) => {
    const environment = { npm_config_script_shell: join(folder, shell) };
    const { child, firstLine, exited } = excursor(["sim", "--port", "0"], { how: "npm", isGroup: true, environment });
    const url = (await firstLine()).slice(6);
    const client = new BackendClient({ url, transport: "h2" });
    let isTold = false;
    const { text, error } = await client.say("@sim say a ;; silent 700 ;; say b", {
      onMessage: (message) => {
        if (isTold || message.case !== "conversationCheckpointUpdate") return;
        isTold = true;
        process.kill((target === "group" ? -1 : 1) * (child.pid ?? 0), signal);
      },
    });
    client.close();
    expect([text, error]).toEqual(["ab", undefined]);
    // `exited` waits for the end of the output, which the server holds as long as it lives.
    expect(await exited).toMatchObject(expected);
    await expect(fetch(url)).rejects.toThrow();
  });
});
