import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { CallList } from "../../src/capture/view/call-list.ts";
import { kindOf } from "../../src/capture/view/message-view.ts";
import { startOpenAiServer } from "../drivers/support/openai-server.ts";
import { KEY } from "./support/gateway-process.ts";
import { openOwnGateway } from "./support/own-gateway.ts";

/** A gateway that records, with a model of its own behind OpenAI's API. */
async function start() {
  const upstream = await startOpenAiServer([{ content: "from upstream" }]);
  const models = { "local/*": { driver: "openai", baseURL: `${upstream.url}/v1` } };
  return openOwnGateway({ models, capture: true, cursorFace: true, cursorPort: 0 });
}

async function ask(url: string, model: string): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json", "x-request-id": "asked-1" };
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] });
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}

function captureOf(home: string): string {
  const folder = join(home, "captures");
  const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".capture"));
  return join(folder, name);
}

/** Returns the calls of the gateway's capture, with the kinds of their messages. */
async function readCalls(home: string) {
  const list = new CallList({ direction: undefined, kind: "" });
  const kinds = new Map<number, string[]>();
  for await (const stored of readCapture(captureOf(home))) {
    const record = list.add(stored);
    if (record?.type !== "message") continue;
    const kind = `${record.direction} ${kindOf(record, list.of(record.call)?.path ?? "")}`;
    kinds.set(record.call, [...(kinds.get(record.call) ?? []), kind]);
  }
  return list.wanted().map((call) => ({ ...call, kinds: kinds.get(call.call) ?? [] }));
}

it("a request of a client and the call of an upstream that names no conversation share its id", async () => {
  const gateway = await start();
  expect(await ask(gateway.url, "local/llama-4")).toBe("from upstream");
  await gateway.restart();
  const calls = (await readCalls(gateway.home)).filter(({ path }) => path.endsWith("/chat/completions"));
  expect(calls).toMatchObject([
    { wire: "client", requestId: "asked-1" },
    { wire: "upstream", requestId: "asked-1", outcome: "ok" },
  ]);
});

it.each(["h2", "h1"] as const)(
  "a run of an own model for a client of Cursor's is recorded on both wires (SEC-52), %s",
  async (transport) => {
    const gateway = await start();
    // The driver of another gateway is the client.
    const client = await openOwnGateway({ upstream: gateway.cursorUrl, token: KEY, transport });
    expect(await ask(client.url, "excursor/local/llama-4")).toBe("from upstream");
    await client.restart();
    await gateway.restart();

    const calls = await readCalls(gateway.home);
    // A holder of a key has no account, so all its calls are answered here.
    const lists = calls.filter(({ wire, path }) => wire === "client" && path.endsWith("/AvailableModels"));
    expect(lists[0]).toMatchObject({ status: 200, outcome: "ok" });
    expect(lists[0]?.kinds).toContain("received AvailableModelsResponse");
    expect(readFileSync(captureOf(gateway.home)).includes(KEY)).toBe(false);
    const upstream = calls.filter(({ path }) => path === "/v1/chat/completions");
    expect(upstream).toMatchObject([{ wire: "upstream", status: 200, outcome: "ok" }]);
    const own = calls.filter(({ wire, requestId }) => wire === "client" && requestId === upstream[0]?.requestId);
    const paths = new Set(own.map(({ path }) => path));
    const run = `/agent.v1.AgentService/${transport === "h2" ? "Run" : "RunSSE"}`;
    expect(paths).toEqual(new Set(transport === "h2" ? [run] : [run, "/aiserver.v1.BidiService/BidiAppend"]));
    expect(new Set(own.map((call) => call.transport))).toEqual(new Set([transport]));
    const [conversation] = own.flatMap((call) => call.conversation ?? []);
    expect(own.filter((call) => call.conversation !== conversation)).toEqual([]);
    const kinds = own.flatMap((call) => call.kinds);
    expect(kinds).toContain("sent run_request");
    expect(kinds).toContain("received interaction_update.text_delta");
    expect(kinds).toContain("received interaction_update.turn_ended");
    expect(kinds.filter((kind) => kind === "received end")).toHaveLength(1);
  },
);
