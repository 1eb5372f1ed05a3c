import { afterEach, describe, expect, it } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { type OwnNode, openOwnCluster } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const PROMPT = '@sim call look {"at":"a"} ;; say {{result}} {{reused}}';

async function setUp() {
  const { open, redis, traced } = await openOwnCluster(defer);
  const ask = async ({ client }: OwnNode, messages: Messages) =>
    (await client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS })).choices[0]?.message ??
    expect.unreachable();
  const parked = async ({ url }: OwnNode) => {
    const page = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text();
    const read = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(page)?.[1]);
    return { runs: read("excursor_parked_runs"), replays: read("excursor_cluster_replays_total") };
  };
  return { redis, traced, ask, parked, one: await open("one"), other: await open("other") };
}

describe.skipIf(!hasRedis)("a follow-up of a run that another gateway holds", () => {
  it("is replayed, and the run ends at once (REL-34)", async () => {
    const { one, other, ask, parked } = await setUp();
    const question: Messages = [{ role: "user", content: PROMPT }];
    const answer = await ask(one, question);
    expect(await parked(one)).toEqual({ runs: 1, replays: 0 });
    // The ended run may have stored its suspended checkpoint in time: then its call is made again on the new stream, and answered here.
    expect((await ask(other, [...question, answer, ...answersTo(answer)])).content).toMatch(/^saw a (?:fresh|stream)$/);
    await expect.poll(() => parked(one)).toEqual({ runs: 0, replays: 0 });
    expect(await parked(other)).toEqual({ runs: 0, replays: 1 });
  });

  it("with new words of the user is replayed as well, and the run ends at once", async () => {
    const { one, other, ask, parked } = await setUp();
    const question: Messages = [{ role: "user", content: PROMPT }];
    const answer = await ask(one, question);
    const steered: Messages = [
      ...question,
      answer,
      ...answersTo(answer),
      { role: "user", content: "@sim say steered" },
    ];
    expect((await ask(other, steered)).content).toContain("steered");
    await expect.poll(() => parked(one)).toEqual({ runs: 0, replays: 0 });
  });

  it("is replayed without Redis, too, and nobody waits for that", async () => {
    const { one, other, ask, parked, redis } = await setUp();
    const question: Messages = [{ role: "user", content: PROMPT }];
    const answer = await ask(one, question);
    await redis.kill();
    expect((await ask(other, [...question, answer, ...answersTo(answer)])).content).toBe("saw a fresh");
    expect((await parked(one)).runs).toBe(1);
  });

  it("does not end the run of another principal whose call id it has (SEC-32)", async () => {
    const { one, other, ask, parked } = await setUp();
    const question: Messages = [{ role: "user", content: PROMPT }];
    const answer = await ask(one, question);
    const stranger = `${["header", "payload"].map((part) => Buffer.from(JSON.stringify({ part, sub: "auth0|user_2" })).toString("base64url")).join(".")}.signature`;
    const response = await fetch(`${other.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${stranger}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-5.5",
        tools: TOOLS,
        messages: [...question, answer, ...answersTo(answer)],
      }),
    });
    expect(response.status).toBe(200);
    expect((await parked(other)).replays).toBe(1);
    // The run still takes its own follow-up.
    expect((await ask(one, [...question, answer, ...answersTo(answer)])).content).toBe("saw a stream");
  });
});
