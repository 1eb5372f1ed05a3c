import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addKey, type KeyLimits, keysPath, readKeys, revokeKey } from "../../src/server/gate/gateway-keys.ts";
import { KeyAllowance } from "../../src/server/gate/key-allowance.ts";
import { KnownKeys } from "../../src/server/gate/known-keys.ts";
import { postChat, startTestGateway } from "./support/gateway.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-keys-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const problems: string[] = [];

function setUp() {
  const spent = new Map<string, number>();
  problems.length = 0;
  const dayTokens = {
    spent: (id: string, day: string) => spent.get(`${id} ${day}`) ?? 0,
    spend: (id: string, day: string, tokens: number) =>
      void spent.set(`${id} ${day}`, (spent.get(`${id} ${day}`) ?? 0) + tokens),
  };
  return { keys: new KnownKeys(keysPath(home), (text) => problems.push(text)), dayTokens, spent };
}

const add = async (name: string, limits: KeyLimits = {}, account?: string) =>
  (await addKey(home, name, { account, limits })).reveal();

const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

describe("a key that was given out", () => {
  it("is kept as a digest only, in a private file", async () => {
    const key = await add("alice");
    expect(key).toMatch(/^exc_[\w-]{43}$/);
    expect(readFileSync(keysPath(home), "utf8")).not.toContain(key);
    expect(statSync(keysPath(home)).mode & 0o777).toBe(0o600);
    expect(readKeys(keysPath(home))).toMatchObject([{ name: "alice", limits: {} }]);
    expect(readdirSync(home).sort()).toEqual(["keys.json", "keys.lock"]);
  });

  it("opens the gate as a principal of its own, for its account", async () => {
    const gateway = await startTestGateway({ issued: setUp() });
    const [alice, bob] = [await add("alice", {}, "work"), await add("bob")];
    const principals = [];
    for (const key of [alice, bob]) {
      const response = postChat(gateway, {}, withKey(key));
      const answer = await gateway.engine.next();
      principals.push(answer.turn.principal);
      answer.finish();
      expect((await response).status).toBe(200);
    }
    expect(principals).toMatchObject([
      { id: expect.stringMatching(/^key_alice_[0-9a-f]{8}$/), account: "work", token: undefined },
      { id: expect.stringMatching(/^key_bob_[0-9a-f]{8}$/), account: undefined },
    ]);
  });

  it("is refused with the next request once it is revoked, and its answers under way end (SEC-09)", async () => {
    const gateway = await startTestGateway({ issued: setUp() });
    const key = await add("alice");
    const streamed = postChat(gateway, { stream: true }, withKey(key));
    const answer = await gateway.engine.next();
    answer.say("so far");
    const response = await streamed;
    await revokeKey(home, "alice");
    expect((await postChat(gateway, {}, withKey(key))).status).toBe(401);
    const text = await response.text();
    expect(text).toContain("so far");
    expect(text).toContain("key_revoked");
    expect(text).not.toContain("[DONE]");
    expect(await answer.aborted).toMatchObject({ code: "key_revoked" });
    // Another of the same name is somebody else.
    const before = answer.turn.principal.id;
    const again = postChat(gateway, {}, withKey(await add("alice")));
    const next = await gateway.engine.next();
    expect(next.turn.principal.id).not.toBe(before);
    next.finish();
    await again;
  });

  it("has its own number of streamed answers", async () => {
    const gateway = await startTestGateway({ issued: setUp() });
    const key = await add("alice", { streams: 1 });
    const first = postChat(gateway, { stream: true }, withKey(key));
    const answer = await gateway.engine.next();
    answer.say("x");
    await first;
    const second = await postChat(gateway, { stream: true }, withKey(key));
    expect([second.status, await second.text()]).toEqual([429, expect.stringContaining("too_many_concurrent")]);
    answer.finish();
    await (await first).text();
  });

  it("may make so many requests in a minute, and no more (SEC-36)", async () => {
    const { keys, dayTokens } = setUp();
    await add("alice", { requestsPerMinute: 2 });
    const { id } = readKeys(keysPath(home))[0] ?? { id: "" };
    let now = 0;
    const allowance = new KeyAllowance({ keys, dayTokens, now: () => now });
    const admitted = () => {
      try {
        allowance.admit(id);
        return "yes";
      } catch (error) {
        return error;
      }
    };
    expect([admitted(), admitted()]).toEqual(["yes", "yes"]);
    now = 20_000;
    expect(admitted()).toMatchObject({ status: 429, code: "requests_per_minute", headers: { "retry-after": "40" } });
    now = 60_000;
    expect(admitted()).toBe("yes");
    for (let n = 0; n < 10; n++) allowance.admit("owner");
  });

  it("is not locked out by a clock that is set back (REL-39)", async () => {
    const { keys, dayTokens } = setUp();
    await add("alice", { requestsPerMinute: 1, tokensPerDay: 10 });
    const { id } = readKeys(keysPath(home))[0] ?? { id: "" };
    let [ticks, wall] = [0, Date.UTC(2026, 10, 15, 23, 30)];
    const allowance = new KeyAllowance({ keys, dayTokens, now: () => ticks, wallClock: () => wall });
    const passMinutes = (minutes: number) => {
      ticks += minutes * 60_000;
      wall += minutes * 60_000;
    };
    allowance.admit(id);
    wall -= 2 * 3_600_000;
    passMinutes(1);
    expect(() => allowance.admit(id)).not.toThrow();
    // The day is used up, and the next one begins.
    wall += 2 * 3_600_000;
    allowance.meterOf(id, () => 0)?.onSpent(10);
    passMinutes(1);
    expect(() => allowance.admit(id)).toThrow("tokens per day");
    passMinutes(60);
    expect(() => allowance.admit(id)).not.toThrow();
    wall -= 2 * 3_600_000;
    passMinutes(1);
    expect(() => allowance.admit(id)).not.toThrow();
    // A clock that was wrong by a year does not make the day last for one.
    allowance.meterOf(id, () => 0)?.onSpent(10);
    wall -= 365 * 86_400_000;
    passMinutes(1);
    expect(() => allowance.admit(id)).not.toThrow();
  });

  it("may use so many tokens in a day, counted when an answer is over", async () => {
    const issued = setUp();
    const gateway = await startTestGateway({ issued });
    // One answer has 12 tokens.
    const key = await add("alice", { tokensPerDay: 20 });
    for (let n = 0; n < 2; n++) {
      const response = postChat(gateway, {}, withKey(key));
      (await gateway.engine.next()).finish();
      expect((await response).status).toBe(200);
      await response.then((whole) => whole.text());
    }
    const refused = await postChat(gateway, {}, withKey(key));
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("tokens_per_day")]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect([...issued.spent.values()]).toEqual([24]);
  });

  it("cannot pass the tokens of a day by asking many times at once (SEC-36)", async () => {
    const issued = setUp();
    const gateway = await startTestGateway({ issued });
    const turn = { messages: [{ role: "user", content: "word ".repeat(400) }] };
    const key = await add("alice", { tokensPerDay: 1200 });
    const refused: Response[] = [];
    const responses = Array.from({ length: 10 }, async () => {
      const response = await postChat(gateway, turn, withKey(key));
      if (response.status === 429) refused.push(response);
      return response.status;
    });
    // 500 tokens each: the third still finds some left.
    await expect.poll(() => refused.length).toBe(7);
    for (const response of refused) {
      expect(await response.text()).toContain("running requests");
      expect(Number(response.headers.get("retry-after"))).toBeLessThan(60);
    }
    expect(gateway.engine.answers).toHaveLength(3);
    for (const answer of gateway.engine.answers) answer.finish();
    expect((await Promise.all(responses)).filter((status) => status === 200)).toHaveLength(3);
  });

  it("gets back what a request has set aside and not used", async () => {
    const { keys, dayTokens } = setUp();
    await add("alice", { tokensPerDay: 100 });
    const { id } = readKeys(keysPath(home))[0] ?? { id: "" };
    const allowance = new KeyAllowance({ keys, dayTokens });
    const begin = (inputTokens: number) => allowance.meterOf(id, () => inputTokens);
    const first = begin(90);
    const second = begin(20);
    expect(() => begin(1)).toThrow("running requests");
    // What is spent is not counted twice.
    second?.onSpent(5);
    second?.end();
    const third = begin(1);
    first?.end();
    third?.onSpent(85);
    third?.end();
    expect(() => begin(1)).not.toThrow();
    third?.onSpent(10);
    expect(() => begin(1)).toThrow("has reached its limit");
    expect(allowance.meterOf("owner", () => 1)).toBeUndefined();
  });

  it("sets aside what its requests usually cost, where that is more than their input", async () => {
    const { keys, dayTokens } = setUp();
    await add("alice", { tokensPerDay: 1000 });
    const { id } = readKeys(keysPath(home))[0] ?? { id: "" };
    const allowance = new KeyAllowance({ keys, dayTokens });
    const before = allowance.meterOf(id, () => 1);
    before?.onSpent(200);
    before?.end();
    const admitted = () => {
      for (let count = 0; ; count++) {
        try {
          allowance.meterOf(id, () => 1);
        } catch {
          return count;
        }
      }
    };
    expect(admitted()).toBe(4);
  });
});

describe("the file of keys", () => {
  it.each([
    ["damaged", () => writeFileSync(keysPath(home), "{")],
    ["readable by others", () => chmodSync(keysPath(home), 0o644)],
  ])("that is %s opens nothing, says so once, and the owner's key still works", async (_, spoil) => {
    const gateway = await startTestGateway({ issued: setUp() });
    const key = await add("alice");
    spoil();
    for (let n = 0; n < 2; n++) expect((await postChat(gateway, {}, withKey(key))).status).toBe(401);
    expect(problems).toHaveLength(1);
    const response = postChat(gateway);
    (await gateway.engine.next()).finish();
    expect((await response).status).toBe(200);
  });

  it("takes each name once, and knows whom to revoke", async () => {
    await add("alice");
    await expect(add("alice")).rejects.toMatchObject({ message: "A key named alice already exists." });
    await expect(revokeKey(home, "bob")).rejects.toMatchObject({
      message: "There is no key named bob; known keys: alice.",
    });
    await Promise.all(Array.from({ length: 10 }, (_, n) => add(`key-${n}`)));
    expect(readKeys(keysPath(home))).toHaveLength(11);
  });
});
