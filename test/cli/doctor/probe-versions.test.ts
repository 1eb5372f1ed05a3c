import { describe, expect, test } from "vitest";
import { probeVersions, type VersionProbe } from "../../../src/cli/doctor/probe-versions.ts";

const NEWEST = "cli-2026.07.23-e383d2b";

async function probe(oldestTaken: string, more: Partial<VersionProbe> = {}) {
  const asked: string[] = [];
  let statusCalls = 0;
  const findings = await probeVersions({
    configured: NEWEST,
    installed: [],
    ...more,
    askStatus: async () => {
      statusCalls++;
      return more.askStatus?.();
    },
    ask: async (version) => {
      asked.push(version);
      return version >= oldestTaken;
    },
  });
  expect(asked.length + statusCalls).toBeLessThanOrEqual(5);
  expect(new Set(asked).size).toBe(asked.length);
  return { asked, last: findings.at(-1) };
}

describe("the configured version is taken", () => {
  test.each([
    ["cli-2025", "cli-2025.11.25-d5b3271"],
    ["cli-2026.01.10", "cli-2026.01.17-d239e66"],
    ["cli-2026.03", "cli-2026.05.01-eea359f"],
    ["cli-2026.07.20", NEWEST],
  ])("and the oldest one after %s is %s", async (oldest, found) => {
    const { last } = await probe(oldest);
    expect(last).toMatchObject({ id: "version", status: "ok", text: expect.stringContaining(`${found}`) });
  });

  test("asks for no other if the backend says what it takes", async () => {
    const status = { minAllowed: "cli-2026.02.01", minSupported: "", current: "cli-2026.08.01-abc" };
    const { asked, last } = await probe("cli-2026.02", { askStatus: async () => status });
    expect(asked).toEqual([NEWEST]);
    expect(last?.status).toBe("ok");
  });
});

describe("the configured version is refused", () => {
  const old = { configured: "cli-2026.01.09-231024f" };

  test("finds a newer one, and says where to set it", async () => {
    const { asked, last } = await probe("cli-2026.07.10", old);
    expect(asked).toEqual([old.configured, NEWEST]);
    expect(last).toMatchObject({ status: "fail", fix: expect.stringContaining(`EXCURSOR_CLIENT_VERSION=${NEWEST}`) });
  });

  test("takes the version of an installed CLI", async () => {
    const installed = ["cli-2026.09.01-aaaaaaa"];
    const { last } = await probe("cli-2026.08", { ...old, installed });
    expect(last?.fix).toContain(installed[0]);
  });

  test("says that it may be the account if all are refused", async () => {
    const { last } = await probe("cli-2099", old);
    expect(last).toMatchObject({ status: "fail", fix: expect.stringContaining("may be about the account") });
  });
});
