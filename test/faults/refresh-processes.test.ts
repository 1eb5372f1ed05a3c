import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { type AccountsStage, setUpAccounts } from "../credentials/support/accounts-stage.ts";

const children: ChildProcessByStdio<Writable, Readable, Readable>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Asker {
  /** Has it ask; its answer, or the signal that ended it. */
  ask(): Promise<readonly string[] | string>;
}

async function startAsker({ home, url }: AccountsStage, count: number, killAt?: number): Promise<Asker> {
  const preload = killAt ? ["--import", "./test/credentials/support/kill-at.ts"] : [];
  const args = [...preload, "test/credentials/support/ask-for-tokens.ts", home, url, String(count)];
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...(killAt && { KILL_AT: String(killAt) }) },
  });
  children.push(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    stderr += chunk;
  });
  const exited = once(child, "close");
  while (!stdout.includes("ready\n")) {
    const [chunk] = await Promise.race([once(child.stdout, "data"), exited.then(() => [])]);
    if (chunk === undefined) throw new Error(stderr);
  }
  return {
    async ask() {
      child.stdin.write("go\n");
      const [, signal] = await exited;
      if (signal !== null) return signal as string;
      const line = stdout.split("\n")[1];
      if (!line) throw new Error(stderr);
      return JSON.parse(line) as string[];
    },
  };
}

describe("an expired token", { timeout: 90_000 }, () => {
  it("is renewed with one request under 50 calls in each of 4 processes, and no token is used twice (REL-37)", async () => {
    const stage = await setUpAccounts({ refreshTokens: "rotating" });
    await stage.signIn("default", { ttlS: -10 });
    const askers = await Promise.all(Array.from({ length: 4 }, () => startAsker(stage, 50)));
    const answers = await Promise.all(askers.map((asker) => asker.ask()));
    expect(answers.map(({ length }) => length)).toEqual([50, 50, 50, 50]);
    expect(new Set(answers.flat()).size).toBe(1);
    expect(stage.refreshes()).toBe(1);
    expect((await stage.store.read("default"))?.login.access?.reveal()).toBe(answers[0]?.[0]);
  });
});

describe("a process that is killed while it renews (REL-38, REL-50)", { timeout: 90_000 }, () => {
  it("leaves a usable store, whatever step it was at, and its lock to the next", { timeout: 180_000 }, async () => {
    let killed = 0;
    const sweep = async (first: number) => {
      const stage = await setUpAccounts();
      for (let at = first; await isKilledAt(stage, at); at += LANES) killed++;
    };
    await Promise.all(Array.from({ length: LANES }, (_, lane) => sweep(lane + 1)));
    expect(killed).toBeGreaterThan(15);
  });

  it("leaves it usable while it waits for the backend, too", async () => {
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const stage = await setUpAccounts({
      trace: ({ message }) => {
        if (!JSON.stringify(message).includes("exchange_user_api_key")) return;
        for (const child of children) child.kill("SIGKILL");
        ask();
      },
    });
    const { refresh } = await stage.signIn("default", { ttlS: -10 });
    const asker = await startAsker(stage, 1);
    const answer = asker.ask();
    await asked;
    expect(await answer).toBe("SIGKILL");
    expect((await stage.store.read("default"))?.login.refresh?.reveal()).toBe(refresh);
    children.length = 0;
    expect((await stage.open().get(undefined)).token).toBeDefined();
  });
});

const LANES = 3;

/** Old or new, and whole; and a next one goes on from it at once. */
async function isKilledAt(stage: AccountsStage, at: number): Promise<boolean> {
  const { home, store } = stage;
  const { access, refresh } = await stage.signIn("default", { ttlS: -10 });
  const asker = await startAsker(stage, 1, at);
  const answer = await asker.ask();
  const kept = (await store.read("default"))?.login;
  if (kept?.access?.reveal() === access) expect(kept.refresh?.reveal()).toBe(refresh);
  const { token } = await stage.open().get(undefined);
  expect(token.reveal()).not.toBe(access);
  expect((await store.read("default"))?.login.access?.reveal()).toBe(token.reveal());
  expect(statSync(store.path).mode & 0o777).toBe(0o600);
  await stage.signIn("default");
  expect(readdirSync(home).sort()).toEqual(["accounts.json", "accounts.json.previous", "accounts.lock"]);
  return answer === "SIGKILL";
}
