import { afterEach, describe, expect, it } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openHubCluster } from "./support/hub-cluster.ts";
import type { OwnNode } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const TOKEN = `${["header", "payload"].map((part) => Buffer.from(JSON.stringify({ part, sub: "auth0|user_2" })).toString("base64url")).join(".")}.signature`;

const post = ({ url }: OwnNode, path: string, body: object, key = KEY) =>
  fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-excursor-asks": "1" },
    body: JSON.stringify(body),
  });

describe.skipIf(!hasRedis)("a question of a hub tool in a cluster", () => {
  async function setUp() {
    const { open } = await openHubCluster(defer);
    const [one, other] = [await open("one"), await open("other")];
    const response = await post(one, "/v1/chat/completions", {
      model: "gpt-5.5",
      stream: true,
      messages: [{ role: "user", content: "@sim call srv__ask {} ;; say {{result}}" }],
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = "";
    const until = async (pattern: RegExp): Promise<string> => {
      for (;;) {
        const found = pattern.exec(received);
        if (found) return found[1] ?? "";
        const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return expect.unreachable(received);
        received += value;
      }
    };
    const { id } = JSON.parse(await until(/^: excursor-question (.*)\n\n/m)) as { id: string };
    const answer = { id, action: "accept", content: { name: "Ann" } };
    return { one, other, until, answer };
  }

  it("is answered by a request to another gateway, once, and by nobody else (SEC-31)", async () => {
    const { one, other, until, answer } = await setUp();
    expect((await post(other, "/excursor/answers", answer, TOKEN)).status).toBe(404);
    expect((await post(other, "/excursor/answers", { ...answer, id: `${answer.id}x` })).status).toBe(404);
    expect((await post(other, "/excursor/answers", answer)).status).toBe(200);
    await until(/(Ann)/);
    await until(/(\[DONE\])/);
    for (const node of [one, other]) expect((await post(node, "/excursor/answers", answer)).status).toBe(404);
  }, 30_000);

  it("of a gateway that is gone is not found", async () => {
    const { one, other, answer } = await setUp();
    await one.close(0);
    // Until the other one has noticed, it tries to reach it: 503.
    const status = async () => (await post(other, "/excursor/answers", answer)).status;
    await expect.poll(status, { timeout: 20_000 }).toBe(404);
  }, 30_000);
});
