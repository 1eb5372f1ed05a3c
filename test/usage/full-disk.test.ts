import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, it, vi } from "vitest";
import { loadConfig } from "../../src/app/load-config.ts";
import { openGateway } from "../../src/app/open-gateway.ts";
import { startSim } from "../../src/sim/server.ts";
import { KEY } from "../gateway/support/gateway-process.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A small file system of its own. Mounting takes a privileged process. */
function mountSmall(): string | undefined {
  const home = mkdtempSync(join(tmpdir(), "excursor-full-"));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", home], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  cleanups.push(() => execFileSync("umount", ["-l", home]));
  return home;
}

it.runIf(process.platform === "linux")("answers go on when the disk is full, and the records wait", async (test) => {
  const home = mountSmall();
  if (home === undefined) return test.skip();
  const sim = await startSim();
  cleanups.push(() => sim.close());
  writeFileSync(join(home, "config.json"), JSON.stringify({ port: 0, key: KEY, upstream: sim.url, token: "tester" }), {
    mode: 0o600,
  });
  let log = "";
  const gateway = await openGateway(loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } }), {
    isDemo: false,
    writeLog: (text) => {
      log += text;
    },
  });
  cleanups.push(() => gateway.close(0));
  const ask = async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-5.5", messages: [{ role: "user", content: "@sim usage 10 1 ;; say hello" }] }),
    });
    await response.text();
    return response.status;
  };
  const fill = join(home, "fill");
  const { bsize, bavail } = statfsSync(home);
  writeFileSync(fill, Buffer.alloc(bsize * bavail));
  expect(statfsSync(home).bavail).toBe(0);
  for (let n = 0; n < 20; n++) expect(await ask()).toBe(200);
  await vi.waitFor(() => expect(log).toMatch(/usage record could not be written.*Answers are not affected/), 10_000);
  expect(await ask()).toBe(200);
  rmSync(fill);
  const rows = () => {
    const database = new DatabaseSync(join(home, "usage.db"), { readOnly: true });
    const { n } = database.prepare("SELECT count(*) AS n FROM request").get() ?? {};
    database.close();
    return n;
  };
  await vi.waitFor(() => expect(rows()).toBe(21), 10_000);
});
