import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { browserCommand } from "../../src/cli/open-browser.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import { type AuthClient, createAuthClient } from "../../src/credentials/auth-client.ts";
import { beginLogin, waitForLogin } from "../../src/credentials/browser-login.ts";
import { startSim } from "../../src/sim/server.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";

const NEVER = new AbortController().signal;

/** Answers each poll as it is told, and keeps how long was waited before it. */
function scripted(...answers: (Error | "pending" | "approved")[]) {
  const pauses: number[] = [];
  const auth: AuthClient = {
    exchange: () => Promise.reject(new Error("not asked for")),
    async poll() {
      const answer = answers[pauses.length - 1] ?? "pending";
      if (answer instanceof Error) throw answer;
      return answer === "approved" ? { access: new Secret("a"), refresh: new Secret("r") } : undefined;
    },
  };
  const sleep = async (ms: number) => void pauses.push(Math.round(ms));
  return { pauses, wait: () => waitForLogin(auth, beginLogin("https://cursor.com"), { signal: NEVER, sleep }) };
}

const broken = new ExcursorError("upstream-failed", "The backend failed.");

describe("a login in the browser", () => {
  it("has an address with the challenge of a verifier that is not in it", () => {
    const { url, uuid, challenge, verifier } = beginLogin("https://cursor.com");
    const { origin, pathname, searchParams } = new URL(url);
    expect(origin + pathname).toBe("https://cursor.com/loginDeepControl");
    expect(Object.fromEntries(searchParams)).toEqual({ challenge, uuid, mode: "login", redirectTarget: "cli" });
    expect(createHash("sha256").update(verifier.reveal()).digest("base64url")).toBe(challenge);
    expect(verifier.reveal()).toMatch(/^[\w-]{43}$/);
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("is polled less and less often until it is approved", async () => {
    const { pauses, wait } = scripted(...Array<"pending">(20).fill("pending"), "approved");
    expect((await wait()).access.reveal()).toBe("a");
    expect(pauses.slice(0, 4)).toEqual([1000, 1200, 1440, 1728]);
    expect(pauses.at(-1)).toBe(10_000);
  });

  it("goes as slowly as the backend asks", async () => {
    const slowDown = new ExcursorError("rate-limited", "Slow down.", { retryAfterMs: 30_000 });
    const { pauses, wait } = scripted(slowDown, slowDown, slowDown, slowDown, "approved");
    await wait();
    expect(pauses).toEqual([1000, 30_000, 30_000, 30_000, 30_000]);
  });

  it("bears two failures in a row and not three", async () => {
    await scripted(broken, broken, "pending", broken, broken, "approved").wait();
    await expect(scripted("pending", broken, broken, broken).wait()).rejects.toBe(broken);
  });

  it("is given up after 150 polls, and says what to do", async () => {
    const { pauses, wait } = scripted();
    await expect(wait()).rejects.toMatchObject({
      code: "login_timeout",
      hint: expect.stringContaining("excursor login"),
    });
    expect(pauses).toHaveLength(150);
  });

  it("works with the backend: pending, told to slow down, approved", async () => {
    const sim = await startSim({ pollIntervalMs: 60_000 });
    const transport = createHttp1Transport();
    const auth = createAuthClient({ transport, origin: sim.url });
    const { url, uuid, verifier } = beginLogin(sim.url);
    expect(await auth.poll(uuid, verifier)).toBeUndefined();
    await expect(auth.poll(uuid, verifier)).rejects.toMatchObject({ kind: "rate-limited", retryAfterMs: 60_000 });
    await fetch(url);
    const other = beginLogin(sim.url);
    await fetch(other.url);
    expect((await auth.poll(other.uuid, other.verifier))?.refresh?.reveal()).toMatch(/^eyJ/);
    transport.destroy();
    await sim.close();
  });
});

it.each([
  ["linux", {}, undefined],
  ["linux", { DISPLAY: ":0" }, ["xdg-open"]],
  ["linux", { WAYLAND_DISPLAY: "w" }, ["xdg-open"]],
  ["linux", { DISPLAY: ":10", SSH_CONNECTION: "1.2.3.4" }, undefined],
  ["linux", { BROWSER: "firefox" }, ["firefox"]],
  ["darwin", {}, ["open"]],
  ["win32", {}, ["rundll32", "url.dll,FileProtocolHandler"]],
] as const)("on %s with %j the browser is %j", (platform, environment, command) => {
  expect(browserCommand(platform, environment)).toEqual(command);
});
