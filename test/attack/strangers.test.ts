import { afterEach, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { forgedToken, HEALTH, postHead, residentMiB, Strangers } from "./support/flood.ts";

const ACCOUNT = "the-account-token-that-must-not-leave-0123456789";
const MIB = 1024 * 1024;
/** Far above what strangers are allowed together, and far below the 960 MiB that their bodies would take. */
const MAX_GROWTH_MIB = 400;

const QUESTION = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "@sim say hello" }] });
const whole = (key: string): string => postHead(key, `content-length: ${QUESTION.length}`) + QUESTION;

type Attack = (strangers: Strangers) => Promise<void>;

const ATTACKS: Readonly<Record<string, Attack>> = {
  "made-up tokens": (strangers) => strangers.sendMany(800, 50, (index) => whole(forgedToken(index))),
  "unfinished bodies": async (strangers) => {
    const body = Buffer.alloc(24 * MIB, " ");
    const unfinished = (key: string, announced: number) =>
      Buffer.concat([Buffer.from(postHead(key, `content-length: ${announced}`)), body.subarray(0, announced - 1)]);
    await strangers.sendMany(40, 40, (index) => unfinished(forgedToken(index), 32 * MIB));
    await strangers.sendMany(100, 20, (index) => unfinished(forgedToken(index), MIB));
    await strangers.sendMany(20, 10, (index) => unfinished(`wrong-key-${index}`, 32 * MIB));
  },
  "silent connections": async (strangers) => {
    await strangers.sendMany(1200, 50, () => "");
    await strangers.sendMany(600, 50, () => "POST /v1/chat/completions HTTP/1.1\r\nHost: loc");
  },
  pipelines: async (strangers) => {
    for (let round = 0; round < 60; round++) {
      const text = round % 2 === 0 ? whole(forgedToken(round)) : HEALTH;
      (await strangers.send(text.repeat(600))).destroy();
    }
  },
  "wrong keys": (strangers) => strangers.sendMany(1500, 50, (index) => whole(`wrong-key-${index}`)),
};

const leaving: (() => void)[] = [];

afterEach(() => {
  for (const leave of leaving.splice(0)) leave();
});

it.each([...Object.keys(ATTACKS), "all of it at once"])(
  "%s: whoever has the key is answered all the time (SEC-36)",
  async (name) => {
    const stage = await setUpGateway();
    const gateway = await stage.start("--token", ACCOUNT);
    const strangers = new Strangers(Number(new URL(gateway.url).port));
    leaving.push(() => strangers.leave());
    const before = residentMiB(gateway.pid);
    let [isOver, answers, most] = [false, 0, before ?? 0];

    const behaveWell = async () => {
      // Once more after the last attack has begun, whatever it has left behind.
      for (let isLast = false; !isLast; ) {
        isLast = isOver;
        const { choices } = await gateway.client.chat.completions.create({
          model: "auto",
          messages: [{ role: "user", content: "@sim say hello" }],
        });
        expect(choices[0]?.message.content).toBe("hello");
        // On a connection of its own each time, as a probe comes.
        const health = await fetch(`${gateway.url}/healthz`, { headers: { connection: "close" } });
        expect(health.status).toBe(200);
        answers++;
        most = Math.max(most, residentMiB(gateway.pid) ?? 0);
      }
    };
    const attacks = name in ATTACKS ? [ATTACKS[name]] : Object.values(ATTACKS);
    const attack = Promise.all(attacks.map((one) => one?.(strangers))).finally(() => {
      isOver = true;
    });
    await Promise.all([behaveWell(), attack]);

    expect(answers).toBeGreaterThan(1);
    if (before !== undefined) expect(most - before).toBeLessThan(MAX_GROWTH_MIB);
    const failure = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "auto",
        messages: [{ role: "user", content: `@sim fail internal title="${ACCOUNT}" ${ACCOUNT} is wrong` }],
      }),
    });
    const told = await failure.text();
    expect(failure.status).toBeGreaterThanOrEqual(500);
    expect(told).toContain("[redacted]");
    strangers.leave();
    expect(await gateway.stop()).toBe(0);
    for (const text of [told, strangers.heard, gateway.log()]) {
      expect(text).not.toContain(ACCOUNT);
      expect(text).not.toContain(KEY);
    }
  },
);

it("a key's tokens of a day run out, however early its client leaves", async () => {
  const { addKey } = await import("../../src/server/gate/keys/gateway-keys.ts");
  const stage = await setUpGateway();
  const gateway = await stage.start();
  const key = (
    await addKey(stage.home, "leaver", { account: undefined, limits: { usage: ["400 tokens/day"] } })
  ).reveal();
  const messages = [{ role: "user", content: `@sim silent 60000 ;; say never\n${"x".repeat(400)}` }];
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 50 && statuses.length === 0; attempt++) {
    const abort = new AbortController();
    const begun = stage.trace.length;
    const answer = fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      signal: abort.signal,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "auto", stream: true, messages }),
    });
    const isRefused = answer.then(({ status }) => status === 429 && statuses.push(status)).catch(() => {});
    await expect
      .poll(
        () => statuses.length > 0 || stage.trace.slice(begun).some((entry) => JSON.stringify(entry).includes("xxxx")),
      )
      .toBe(true);
    abort.abort();
    await isRefused;
  }
  expect(statuses).toEqual([429]);
});
