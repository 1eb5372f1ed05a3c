import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "../../gateway/support/tool-client.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { type Balancer, hasProgram, startComposed } from "../support/compose-processes.ts";
import { hasRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 60_000);
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

async function setUp(balancer: Balancer) {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry) });
  defer(() => sim.close());
  const given = { EXCURSOR_KEY: KEY, EXCURSOR_TOKEN: "tester", EXCURSOR_UPSTREAM: sim.url, EXCURSOR_LOG_LEVEL: "warn" };
  return { trace, ...(await startComposed(defer, given, { balancer, balancing: "kept together" })) };
}

const BEARER = { authorization: `Bearer ${KEY}` };

type Headers = Readonly<Record<string, string>>;

/** How clients say which conversation, or at least whose key, a request belongs to. */
const KEPT: readonly (readonly [client: string, path: string, headers: (id: number) => Headers])[] = [
  ["Claude Code", "/v1/chat/completions", (id) => ({ ...BEARER, "x-claude-code-session-id": `claude-${id}` })],
  ["Codex", "/v1/chat/completions", (id) => ({ ...BEARER, "session-id": `codex-${id}` })],
  ["OpenCode", "/v1/chat/completions", (id) => ({ ...BEARER, "x-session-id": `opencode-${id}` })],
  ["others, by authorization", "/v1/chat/completions", () => BEARER],
  ["others, by x-api-key", "/v1/chat/completions", () => ({ "x-api-key": KEY })],
];

describe.skipIf(!hasRedis).each<Balancer>(["haproxy", "nginx", "caddy"])("three gateways behind %s", (balancer) => {
  it.skipIf(!hasProgram(balancer))("keep conversations together, stream, and carry WebSockets", async () => {
    const { url, trace, nodes } = await setUp(balancer);
    const post = (headers: Headers, body: object, signal?: AbortSignal) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "gpt-5.5", ...body }),
        ...(signal && { signal }),
      });

    for (const [client, , headersOf] of KEPT) {
      for (let id = 0; id < 6; id++) {
        const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{reused}}' }];
        const ask = async () => {
          const response = await post(headersOf(id), { messages, tools: TOOLS });
          const { choices } = (await response.json()) as { choices: { message: Parameters<typeof answersTo>[0] }[] };
          return choices[0]?.message ?? expect.unreachable(client);
        };
        const answer = await ask();
        messages.push(answer, ...answersTo(answer));
        // The run that waits is at the gateway that gets its results.
        expect((await ask()).content, `${client} ${id}`).toBe("stream");
      }
    }
    const replays = await Promise.all(
      nodes.map(async (node) => {
        const page = await (await fetch(`${node.url}/metrics`, { headers: BEARER })).text();
        const asked = Number(/^excursor_requests_total\{.*completions.*status="200"\} (\d+)/m.exec(page)?.[1] ?? 0);
        return { asked, replays: Number(/^excursor_cluster_replays_total (\d+)/m.exec(page)?.[1]) };
      }),
    );
    expect(replays.map((one) => one.replays)).toEqual([0, 0, 0]);
    // Conversations are spread over the gateways.
    expect(replays.filter(({ asked }) => asked > 0)).toHaveLength(3);

    const leaving = new AbortController();
    const content = "@sim say begun ;; silent 600000";
    const stream = await post(BEARER, { stream: true, messages: [{ role: "user", content }] }, leaving.signal);
    let read = "";
    // Nothing is held back until there is more.
    for await (const chunk of stream.body ?? []) {
      read += Buffer.from(chunk).toString();
      if (read.includes("begun")) break;
    }
    const before = trace.filter(isGivenUp).length;
    leaving.abort();
    await expect.poll(() => trace.filter(isGivenUp).length, { timeout: 10_000 }).toBeGreaterThan(before);

    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, { headers: BEARER });
    const events: string[] = [];
    socket.on("message", (data) => events.push(data.toString()));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    socket.send(JSON.stringify({ type: "response.create", model: "gpt-5.5", input: "@sim say through" }));
    await expect.poll(() => events.join(""), { timeout: 10_000 }).toContain("response.completed");
    expect(events.join("")).toContain("through");
    socket.terminate();
  });
});
