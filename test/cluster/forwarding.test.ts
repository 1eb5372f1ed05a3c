import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { listNodes } from "../../src/cluster/nodes/list-nodes.ts";
import { Secret } from "../../src/core/secret.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { answersTo, callsOf, type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { type OwnNode, openOwnCluster } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";

/** A token of another account. */
const JWT = `${["header", "payload"].map((part) => Buffer.from(JSON.stringify({ part, sub: "auth0|user_2" })).toString("base64url")).join(".")}.signature`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp() {
  const cluster = await openOwnCluster((cleanup) => cleanups.push(cleanup));
  const nodes = [await cluster.open("a"), await cluster.open("b"), await cluster.open("c")] as const;
  return { ...cluster, nodes };
}

async function ask({ client }: Pick<OwnNode, "client">, messages: Messages) {
  const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
  const [choice] = choices;
  if (!choice) throw new Error("no answer");
  return choice.message;
}

const metricsOf = async ({ url }: OwnNode): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text();

describe.skipIf(!hasRedis)("three gateways", () => {
  it("a follow-up on any of them goes on with the run, on its upstream stream (REL-43)", async () => {
    const { nodes, traced } = await setUp();
    const steps = ["a", "b", "c", "d"].map((at) => `call look {"at":"${at}"} ;; wait`).join(" ;; ");
    const messages: Messages = [{ role: "user", content: `@sim ${steps} ;; say done {{reused}}` }];
    let answer = await ask(nodes[0], messages);
    for (let turn = 1; callsOf(answer).length > 0; turn++) {
      messages.push(answer, ...answersTo(answer));
      answer = await ask(nodes[turn % 3] ?? nodes[0], messages);
    }
    expect([answer.content, traced("run_request")]).toEqual(["done stream", 1]);
  });

  it("a follow-up is replayed from the transcript if its home node is gone (REL-44)", async () => {
    const { nodes, traced } = await setUp();
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{reused}}' }];
    const answer = await ask(nodes[0], messages);
    await nodes[0].close(0);
    messages.push(answer, ...answersTo(answer));
    expect((await ask(nodes[1], messages)).content).toBe("saw a fresh");
    expect(traced("run_request")).toBe(2);
  });

  it("a follow-up reaches its home node while Redis is away, which `/readyz` tells (REL-46)", async () => {
    const { nodes, redis, traced } = await setUp();
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{reused}}' }];
    const answer = await ask(nodes[0], messages);
    await expect.poll(() => nodes[1].log()).toContain("is reached");
    await redis.kill();
    messages.push(answer, ...answersTo(answer));
    expect((await ask(nodes[1], messages)).content).toBe("saw a stream");
    expect(traced("run_request")).toBe(1);
    await expect.poll(async () => (await fetch(`${nodes[1].url}/readyz`)).json()).toEqual({ status: "degraded" });
  });

  it("a client that leaves cancels the run on its home node, and what it has used is recorded", async () => {
    const { nodes, trace } = await setUp();
    const messages: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; say some words ;; silent 60000' },
    ];
    const answer = await ask(nodes[0], messages);
    messages.push(answer, ...answersTo(answer));
    const stream = await nodes[1].client.chat.completions.create({
      model: "gpt-5.5",
      messages,
      tools: TOOLS,
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await expect.poll(() => trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
    await expect.poll(() => metricsOf(nodes[1])).toMatch(/excursor_tokens_total\{[^}]*kind="output"[^}]*\} [1-9]/);
  });

  it("an error of the run has its own status and words on the gateway that was asked", async () => {
    const { nodes } = await setUp();
    const messages: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; say shown ;; fail internal went wrong' },
    ];
    const answer = await ask(nodes[0], messages);
    messages.push(answer, ...answersTo(answer));
    await expect(ask(nodes[2], messages)).rejects.toMatchObject({ status: 502, message: /went wrong/ });
  });

  it("another principal's call ids lead nowhere, on any gateway (SEC-49)", async () => {
    const { nodes, traced } = await setUp();
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{reused}}' }];
    const answer = await ask(nodes[0], messages);
    messages.push(answer, ...answersTo(answer));
    const stranger = new OpenAI({ baseURL: `${nodes[1].url}/v1`, apiKey: JWT, maxRetries: 0 });
    expect((await ask({ client: stranger }, messages)).content).toBe("saw a fresh");
    expect(traced("run_request")).toBe(2);
    expect((await ask(nodes[2], messages)).content).toBe("saw a stream");
  });

  it("the list of nodes and the metrics show who has forwarded and who has answered", async () => {
    const { nodes, redis } = await setUp();
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}}' }];
    const answer = await ask(nodes[0], messages);
    messages.push(answer, ...answersTo(answer));
    await ask(nodes[1], messages);
    const figures = async () =>
      (await listNodes(new Secret(redis.url))).nodes.map(({ name, forwarded, served }) => [name, forwarded, served]);
    await expect.poll(figures, { timeout: 5000 }).toEqual([
      ["a", 0, 1],
      ["b", 1, 0],
      ["c", 0, 0],
    ]);
    expect(await metricsOf(nodes[1])).toContain('excursor_cluster_forwards_total{outcome="forwarded"} 1');
    expect(await metricsOf(nodes[1])).toContain("excursor_cluster_nodes 3");
  });

  it("a gateway that stops has others answer new turns, and parks nothing", async () => {
    const { open, traced } = await openOwnCluster((cleanup) => cleanups.push(cleanup), {}, {}, { handoverMs: 60_000 });
    const [a, b] = [await open("a"), await open("b")];
    await ask(b, [{ role: "user", content: "@sim say warm" }]);
    await expect.poll(() => a.log()).toContain("is reached");
    const messages: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; wait ;; call look {"at":"b"} ;; say {{reused}}' },
    ];
    const parked = await ask(a, messages);
    void a.close();
    await expect.poll(async () => (await fetch(`${a.url}/readyz`)).status).toBe(503);
    // A new turn is answered by the other gateway: the tag in its call ids is that one's.
    const fresh: Messages = [{ role: "user", content: '@sim call look {"at":"x"} ;; say {{result}} {{reused}}' }];
    const call = await ask(a, fresh);
    fresh.push(call, ...answersTo(call));
    expect((await ask(b, fresh)).content).toBe("saw x stream");
    expect(await metricsOf(b)).toMatch(/forwards_total\{outcome="served"\} 1/);
    // The run that waits here goes on here; its next calls are not waited for, and the follow-up is replayed.
    messages.push(parked, ...answersTo(parked));
    const before = traced("run_request");
    const next = await ask(a, messages);
    expect(traced("run_request")).toBe(before);
    messages.push(next, ...answersTo(next));
    expect((await ask(b, messages)).content).toMatch(/fresh|checkpoint/);
    expect(traced("run_request")).toBe(before + 1);
  });
});
