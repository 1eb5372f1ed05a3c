import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadConfig } from "../../src/app/load-config.ts";
import { secretsOf } from "../../src/app/secrets-of.ts";
import { Masker } from "../../src/capture/mask/masker.ts";
import { reportError } from "../../src/cli/terminal/report-error.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { createRedactor } from "../../src/observe/redactor.ts";

let home = "";
const planted: string[] = [];
/** Has no form of its own, and no name before it in a log: only who knows it can mask it. */
function plant(): string {
  const secret = `Canary-${planted.length}-${"abcdefghijklmnopqrstuvwxyz"[planted.length]}-Zebra`;
  planted.push(secret);
  return secret;
}

function write(name: string, content: unknown): void {
  writeFileSync(join(home, name), typeof content === "string" ? content : JSON.stringify(content));
  chmodSync(join(home, name), 0o600);
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "secrets-of-"));
  planted.length = 0;
  vi.stubEnv("EXCURSOR_HOME", home);
  vi.stubEnv("EXCURSOR_TOKEN", plant());
  vi.stubEnv("CURSOR_API_KEY", plant());
  vi.stubEnv("GITHUB_PAT", plant());
  vi.stubEnv("DB_PASSWORD", plant());
  vi.stubEnv("PASSED", plant());
  vi.stubEnv("NAMED", plant());
  vi.stubEnv("HTTPS_PROXY", `http://me:${plant()}@proxy.test:8080`);
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", `authorization=Bearer%20${plant()},x-team=${plant()}`);
  write("config.json", {
    key: plant(),
    pathSecret: plant(),
    openai: { key: plant() },
    anthropic: { key: plant() },
    cluster: { redis: `rediss://user:${plant()}@redis.test:6379` },
    models: { mine: { driver: "openai", model: "m", baseURL: "https://m.test/v1", keyVariable: "NAMED" } },
    agents: { mine: { command: "agent", env: { AGENT_TOKEN: plant() }, passEnv: ["PASSED"] } },
  });
  write("mcp.json", {
    mcpServers: {
      local: { command: "server", env: { SERVICE_TOKEN: plant() } },
      remote: { url: "https://mcp.test/mcp", headers: { "x-team": plant() } },
      signed: { url: "https://mcp2.test/mcp", auth: { CLIENT_ID: "id", CLIENT_SECRET: plant() } },
    },
  });
  for (const name of ["key", "bridge-key", "path-secret"]) write(name, plant());
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

test("A33 SEC-50 every configured secret is known to the log, to reports and to errors", async () => {
  const secrets = secretsOf(loadConfig({ flags: {}, environment: process.env }));
  expect(planted).toHaveLength(21);
  const text = planted.map((secret) => `it said ${secret} there`).join("\n");
  const printed: string[] = [];
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => printed.push(String(chunk)) > 0);
  await reportError(new ExcursorError("invalid-request", text));
  stderr.mockRestore();
  for (const shown of [createRedactor(secrets).redact(text), new Masker(secrets).text(text), printed.join("")]) {
    expect(planted.filter((secret) => shown.includes(secret))).toEqual([]);
    expect(shown).toContain("it said");
  }
});

test("A33 an error about settings that cannot be read has no secret either", () => {
  write("config.json", "{");
  expect(secretsOf(undefined)).toEqual(expect.arrayContaining(planted.slice(0, 3)));
});

test("A34 SEC-53 an error commands no terminal", async () => {
  const printed: string[] = [];
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => printed.push(String(chunk)) > 0);
  const hostile = "a\u001b]0;title\u0007b\u009b2Jc\u001b[2Jd\r\u0085\u202ee";
  const cause = new Error(hostile);
  for (const error of [
    new ExcursorError("upstream-failed", hostile, { hint: hostile }),
    new ExcursorError("internal", hostile, { cause }),
    cause,
  ]) {
    await reportError(error);
  }
  stderr.mockRestore();
  expect(printed).toHaveLength(3);
  for (const line of printed) {
    expect([...line].filter((letter) => letter !== "\n" && /[\p{Cc}\u202e]/u.test(letter))).toEqual([]);
  }
});
