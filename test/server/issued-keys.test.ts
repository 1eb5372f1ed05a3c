import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addKey, type KeyLimits, keysPath, readKeys, revokeKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { KnownKeys } from "../../src/server/gate/keys/known-keys.ts";
import { OwnRequestCounter } from "../../src/server/gate/request-counter.ts";
import { RequestRate } from "../../src/server/gate/request-rate.ts";
import { postChat, startTestGateway } from "./support/gateway.ts";
import { connect } from "./support/socket-client.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-keys-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const problems: string[] = [];

function setUp() {
  problems.length = 0;
  return { keys: new KnownKeys(keysPath(home), (text) => problems.push(text)) };
}

const add = async (name: string, limits: Partial<KeyLimits> = {}, account?: string) =>
  (await addKey(home, name, { account, limits: { usage: [], ...limits } })).reveal();

const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

describe("a key that was given out", () => {
  it("is kept as a digest only, in a private file", async () => {
    const key = await add("alice");
    expect(key).toMatch(/^exc_[\w-]{43}$/);
    expect(readFileSync(keysPath(home), "utf8")).not.toContain(key);
    expect(statSync(keysPath(home)).mode & 0o777).toBe(0o600);
    expect(readKeys(keysPath(home))).toMatchObject([{ name: "alice", limits: { usage: [] } }]);
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

  it("closes its WebSockets with code 1008 once it is revoked (SEC-09)", async () => {
    const gateway = await startTestGateway({ issued: setUp() });
    const key = await add("alice");
    const client = await connect(gateway, withKey(key).headers);
    const other = await connect(gateway, withKey(await add("bob")).headers);
    await revokeKey(home, "alice");
    expect((await postChat(gateway, {}, withKey(key))).status).toBe(401);
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(other.webSocket.readyState).toBe(1);
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

  it("may make so many requests in a minute, and no more, whatever happens to the clock (SEC-36, REL-39)", () => {
    let now = 0;
    const rate = new RequestRate((id) => (id === "alice" ? 2 : undefined), new OwnRequestCounter(() => now));
    const admitted = () => {
      try {
        void rate.admit("alice");
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
    for (let n = 0; n < 10; n++) void rate.admit("owner");
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

  it.each([
    [
      { usage: ["$5/day", "$5/hour"] },
      {
        code: "bad_key_limit",
        message: expect.stringContaining("keys.0.limits.usage.1 is a wrong limit: dollars can"),
      },
    ],
    [{ requestsPerMinute: 60, usage: [] }, { code: "keys_damaged" }],
  ])("are all refused if a limit of one is unknown, which nobody would be held to: %j", (limits, error) => {
    const key = { name: "alice", id: "key_alice_1", digest: "0".repeat(64), limits, createdAt: "2026-11-15T12:00:00Z" };
    writeFileSync(keysPath(home), JSON.stringify({ version: 1, keys: [key] }), { mode: 0o600 });
    expect(() => readKeys(keysPath(home))).toThrow(expect.objectContaining(error));
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
