import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createAccountStore } from "../../src/credentials/account-store.ts";
import { issueTokens } from "../../src/sim/accounts.ts";
import type { SimOptions, TraceEntry } from "../../src/sim/options.ts";
import { startSim } from "../../src/sim/server.ts";

const KEY = "exc_a-key-for-tests-only-0123456789";
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A backend, a home with one account in it, and gateway processes that share it. */
async function setUp(login: { readonly access: string; readonly refresh: string }, options: Partial<SimOptions> = {}) {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry), ...options });
  const home = mkdtempSync(join(tmpdir(), "excursor-accounts-"));
  cleanups.push(
    () => rmSync(home, { recursive: true, force: true }),
    () => sim.close(),
  );
  const store = createAccountStore({ home, keychain: undefined, onNotice: () => {} });
  const { access, refresh } = login;
  const secrets = { access: new Secret(access), refresh: new Secret(refresh), apiKey: undefined };
  await store.lock.run(() => store.write({ name: "default", origin: sim.url, login: secrets }));
  const start = async (): Promise<string> => {
    const child = spawn(process.execPath, ["bin/excursor.js", "serve", "--port", "0", "--json"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        PATH: process.env["PATH"],
        EXCURSOR_HOME: home,
        EXCURSOR_KEYCHAIN: "off",
        EXCURSOR_UPSTREAM: sim.url,
        EXCURSOR_KEY: KEY,
        EXCURSOR_LOG_LEVEL: "silent",
      },
    });
    cleanups.push(async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
    });
    const [line] = await once(child.stdout.setEncoding("utf8"), "data");
    return (JSON.parse(line) as { url: string }).url;
  };
  const refreshes = () => trace.filter(({ message }) => JSON.stringify(message).includes("exchange_user")).length;
  return { start, refreshes };
}

const ask = async (url: string, content = "@sim say hello") => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }] }),
  });
  return [response.status, await response.text()] as const;
};

const EXPIRED = issueTokens("auth0|user_x", -10);

describe("gateways whose account's token", { timeout: 120_000 }, () => {
  it("has expired answer fifty clients each, and renew it once in all (REL-37)", async () => {
    const { accessToken: access, refreshToken: refresh } = EXPIRED;
    const { start, refreshes } = await setUp({ access, refresh }, { refreshTokens: "rotating" });
    const urls = await Promise.all([start(), start(), start(), start()]);
    const answers = await Promise.all(urls.flatMap((url) => Array.from({ length: 50 }, () => ask(url))));
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]));
    expect(refreshes()).toBe(1);
  });

  it("is refused renew it, and the client does not notice (REL-22)", async () => {
    const { start, refreshes } = await setUp({ access: "invalid-by-now", refresh: EXPIRED.refreshToken });
    expect(await ask(await start())).toEqual([200, expect.stringContaining("hello")]);
    expect(refreshes()).toBe(1);
  });

  it("cannot be renewed say so with 401, and how to sign in", async () => {
    const { start, refreshes } = await setUp({ access: EXPIRED.accessToken, refresh: "invalid-revoked" });
    const url = await start();
    for (let n = 0; n < 3; n++) {
      const [status, body] = await ask(url);
      expect(status).toBe(401);
      expect(JSON.parse(body)).toMatchObject({
        error: { code: "login_over", message: expect.stringContaining("excursor login --account default") },
      });
    }
    expect(refreshes()).toBe(1);
  });
});
