import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGateway, type GatewayOptions, type Message, type TurnEvent } from "../../src/api/gateway.ts";
import { createSimulator, type SimulatorMessage } from "../../src/api/simulator.ts";

const ask = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

async function collect(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const all: TurnEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const textOf = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

function create(options: GatewayOptions) {
  const home = mkdtempSync(join(tmpdir(), "excursor-api-"));
  const gateway = createGateway({ home, environment: {}, ...options });
  onTestFinished(async () => {
    await gateway.stop(0);
    rmSync(home, { recursive: true, force: true });
  });
  return { gateway, home };
}

describe("createGateway", () => {
  it("serves a client with its own key, and stores no key", async () => {
    const { gateway, home } = create({ demo: true });
    expect(() => gateway.url).toThrow(/does not run/);
    expect(await gateway.start()).toBe(gateway);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const answer = await client.chat.completions.create({
      model: "auto",
      messages: [{ role: "user", content: "@sim say hello" }],
    });
    expect(answer.choices[0]?.message.content).toBe("hello");
    expect(readdirSync(home)).not.toContain("key");
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "exc_wrong", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 });
  });

  it("answers in the process, and continues with the results of tools", async () => {
    const { gateway } = create({ demo: true });
    await gateway.start();
    const tools = [{ name: "add", description: "", schema: { type: "object" } }];
    const question = ask('@sim call add {"a":1} ;; say sum {{result}}');
    const first = await collect(gateway.run({ model: "auto", messages: [question], tools }));
    const call = first.find((event) => event.type === "tool-call");
    if (!call) throw new Error("there is no call");
    expect(call).toMatchObject({ name: "add", args: { a: 1 } });
    const { id, name, args } = call;
    const messages: Message[] = [
      question,
      { role: "assistant", content: [{ type: "tool-call", id, name, args }] },
      { role: "tool", callId: id, content: [{ type: "text", text: "42" }], isError: false },
    ];
    expect(textOf(await collect(gateway.run({ model: "auto", messages, tools })))).toBe("sum 42");
  });

  it("rejects unknown and wrong settings by name", async () => {
    const { gateway } = create({ demo: true, settings: { limits: { bodyBites: 1 }, logLevel: "loud" } });
    await expect(gateway.start()).rejects.toThrow(/limits\.bodyBites.*did you mean.*\n.*logLevel/s);
    expect(() => gateway.url).toThrow(/does not run/);
  });

  it("starts again after a stop, and a second start or stop does nothing", async () => {
    const { gateway } = create({ demo: true });
    await Promise.all([gateway.start(), gateway.start()]);
    await gateway.stop(0);
    await gateway.stop(0);
    expect(() => gateway.run({ model: "auto", messages: [ask("hi")] })).toThrow(/does not run/);
    await gateway.start();
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});

describe("createSimulator", () => {
  it("does not run after a stop that came before the end of the start", async () => {
    const simulator = createSimulator();
    const started = simulator.start();
    await simulator.stop();
    await started;
    expect(() => simulator.url).toThrow(/does not run/);
  });

  it("is the backend of a gateway, with a script and a view of its messages", async () => {
    const seen: SimulatorMessage[] = [];
    const simulator = createSimulator({ script: "@sim say scripted", onMessage: (message) => seen.push(message) });
    onTestFinished(() => simulator.stop());
    expect(() => simulator.url).toThrow(/does not run/);
    await simulator.start();
    const { gateway } = create({ settings: { upstream: simulator.url, token: "tester" } });
    await gateway.start();
    expect(textOf(await collect(gateway.run({ model: "auto", messages: [ask("anything")] })))).toBe("scripted");
    expect(seen).toContainEqual(expect.objectContaining({ dir: "in", kind: "run_request" }));
    expect(simulator.stats()).toMatchObject({ unknownCalls: 0 });
  });
});
