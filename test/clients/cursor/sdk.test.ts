import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { type Simulator, startSim } from "../../../src/sim/server.ts";
import { makeCertificate } from "../../wire/support/certificate.ts";
import { type AgentSettings, type RunOutcome, SdkProcess } from "../support/sdk-process.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

const folders: string[] = [];

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-sdk-"));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A simulator and the official client, sent there by nothing but its environment variable. */
class Bench implements AsyncDisposable {
  readonly trace: TraceEntry[] = [];
  readonly home = makeFolder();
  readonly cwd = makeFolder();
  #agents = 0;

  private constructor() {}

  declare sim: Simulator;
  declare sdk: SdkProcess;

  static async start(options: Partial<SimOptions>, env: Readonly<Record<string, string>> = {}): Promise<Bench> {
    const bench = new Bench();
    bench.sim = await startSim({ ...options, trace: (entry) => bench.trace.push(entry) });
    bench.sdk = new SdkProcess({ url: bench.sim.url, home: bench.home, env });
    return bench;
  }

  async agent(options: AgentSettings = {}): Promise<string> {
    const name = `agent ${++this.#agents}`;
    await this.sdk.create(name, { ...options, local: { cwd: this.cwd, ...options.local } });
    return name;
  }

  /** One run of a new agent. */
  async ask(prompt: string, options: AgentSettings = {}): Promise<RunOutcome> {
    return this.sdk.send(await this.agent(options), prompt);
  }

  kinds(kind: string): TraceEntry[] {
    return this.trace.filter((entry) => entry.kind === kind);
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sdk[Symbol.asyncDispose]();
    await this.sim.close();
  }
}

describe.each(["h2", "h1"] as const)("the official client over %s", (transport) => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ hostConfig: transport });
  });
  afterAll(() => bench[Symbol.asyncDispose]());
  afterEach(() => {
    // Whatever a test was about: the client broke no rule, had every tool it was asked for, used the transport it was told.
    expect(bench.kinds("violation")).toEqual([]);
    expect(bench.kinds("skip")).toEqual([]);
    for (const open of bench.kinds("open")) expect(open.transport).toBe(transport);
    bench.trace.length = 0;
  });

  it("lists models, says who is logged in", async () => {
    expect(await bench.sdk.models()).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: "composer-2.5", displayName: "Composer 2.5" })]),
    );
    expect(await bench.sdk.me()).toMatchObject({ userEmail: expect.stringContaining("@") });
    const outcome = await bench.ask("@sim say hi");
    expect(outcome.status).toBe("finished");
  });

  it("text, token by token", async () => {
    const { status, text, messages } = await bench.ask(String.raw`@sim say hello wide\nworld`);
    expect([status, text]).toEqual(["finished", "hello wide\nworld"]);
    expect(messages.filter(({ type }) => type === "assistant")).toHaveLength(2);
  });

  it("ten thousand tokens, none lost", async () => {
    const { status, text } = await bench.ask("@sim tokens 10000 0");
    expect(status).toBe("finished");
    expect(text).toBe(Array.from({ length: 10_000 }, (_, n) => `t${n}`).join(" "));
  });

  it("thinking", async () => {
    const { thinking, text } = await bench.ask("@sim think let me see ;; say ok");
    expect([thinking, text]).toEqual(["let me see", "ok"]);
  });

  it("an echo without a script", async () => {
    const { status, text } = await bench.ask("What is this?");
    expect(status).toBe("finished");
    expect(text).toContain("What is this?");
  });

  it("a custom tool", async () => {
    const { text, messages } = await bench.ask('@sim call look {"at":"x"} ;; say {{tools}}: {{result}} ({{reused}})');
    expect(text).toBe('look,slow,large,boom,hang: looked at {"at":"x"} (stream)');
    const calls = messages.filter(({ type }) => type === "tool_call");
    expect(calls.at(0)).toMatchObject({ name: "mcp", status: "running" });
    expect(calls.at(-1)).toMatchObject({ name: "mcp", status: "completed" });
  });

  it("two parallel tools, answered out of order", async () => {
    const script =
      '@sim call slow {"ms":400,"text":"one"} ;; call slow {"ms":1,"text":"two"} ;; say {{result.0}}, {{result.1}}';
    const { text } = await bench.ask(script);
    expect(text).toBe("one, two");
    const answers = bench.kinds("exec_client_message").map(({ message }) => JSON.stringify(message));
    expect(answers.findIndex((json) => json.includes('"two"'))).toBeLessThan(
      answers.findIndex((json) => json.includes('"one"')),
    );
  });

  it("a tool that throws", async () => {
    const { status, text } = await bench.ask("@sim call boom {} ;; say it said {{result}}");
    expect([status, text]).toEqual(["finished", "it said boom went off"]);
  });

  it("turn after turn from the checkpoint, also in another process", async () => {
    const agentId = await bench.sdk.create("keeper", { local: { cwd: bench.cwd } });
    expect((await bench.sdk.send("keeper", "@sim think hm ;; say first {{reused}}")).text).toBe("first fresh");
    await bench.sdk.send("keeper", '@sim call look {"at":"y"} ;; say second');
    const history = [
      "user: @sim think hm ;; say first {{reused}}",
      "assistant: first fresh",
      'user: @sim call look {"at":"y"} ;; say second',
      'assistant: [look {"at":"y"}]',
      'tool: looked at {"at":"y"}',
      "assistant: second",
    ];
    const third = String.raw`@sim say {{reused}}\n{{history}}`;
    expect((await bench.sdk.send("keeper", third)).text.split("\n")).toEqual(["checkpoint", ...history]);

    await using other = new SdkProcess({ url: bench.sim.url, home: bench.home });
    await other.resume("again", agentId, { model: { id: "composer-2.5" }, local: { cwd: bench.cwd } });
    const { text } = await other.send("again", third);
    expect(text.split("\n").slice(0, 7)).toEqual(["checkpoint", ...history]);
    expect(text).toContain("assistant: checkpoint\\nuser: @sim think hm");
  });

  it("an image, a system prompt, model parameters", async () => {
    const model = { id: "claude-opus-4-8", params: [{ id: "effort", value: "low" }] };
    const agent = await bench.agent({ model, systemPrompt: "Be brief." });
    const text = String.raw`@sim say {{images}}\n{{system}}\n{{model}}`;
    const images = [{ data: PNG.toString("base64"), mimeType: "image/png" }];
    const outcome = await bench.sdk.send(agent, { text, images });
    expect(outcome.error).toBeUndefined();
    const [seen, system, chosen] = outcome.text.split("\n");
    expect(seen).toBe(`1 image/png:${PNG.length}`);
    expect(system).toBe("Be brief.");
    expect(chosen).toMatch(/^claude-opus-4-8 .*effort=low/);
  });

  it("usage", async () => {
    const { usage } = await bench.ask("@sim usage 100 20 30 ;; say counted");
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 20, cacheReadTokens: 30, totalTokens: 150 });
    expect((await bench.ask("@sim fault no-usage ;; say free")).usage).toBeUndefined();
  });

  it("a cancel in the middle of the text", async () => {
    const agent = await bench.agent();
    let isCancelled = false;
    const outcome = await bench.sdk.send(agent, "@sim tokens 500 20", ({ type }) => {
      if (type !== "assistant" || isCancelled) return;
      isCancelled = true;
      void bench.sdk.cancel(agent);
    });
    expect(outcome.status).toBe("cancelled");
    await bench.until(() => bench.kinds("reset").length === 1);
    expect((await bench.sdk.send(agent, "@sim say still here")).text).toBe("still here");
  });

  it("a cancel with a tool pending", async () => {
    const agent = await bench.agent();
    const called = bench.sdk.toolCalled("hang");
    const running = bench.sdk.send(agent, "@sim call hang {} ;; say never");
    await called;
    await bench.sdk.cancel(agent);
    expect(await running).toMatchObject({ status: "cancelled", text: "" });
    await bench.until(() => bench.kinds("reset").length === 1);
  });

  it("errors, with details and without", async () => {
    expect(await bench.ask("@sim say a ;; fail resource_exhausted too much")).toMatchObject({
      status: "error",
      error: "[resource_exhausted] too much",
      text: "a",
    });
    const detailed = '@sim fail resource_exhausted ERROR_RATE_LIMITED title="Slow down" You are too quick';
    expect((await bench.ask(detailed)).error).toBe("Slow down You are too quick");
    expect(await bench.ask("@sim fail http=503")).toMatchObject({ status: "error", text: "" });
  });

  it("a key that is none", async () => {
    await using sdk = new SdkProcess({ url: bench.sim.url, home: makeFolder(), apiKey: "invalid-key" });
    await expect(sdk.me()).rejects.toMatchObject({ name: "AuthenticationError", status: 401 });
    await expect(sdk.create("nobody")).rejects.toMatchObject({ name: "AuthenticationError", status: 401 });
  });

  it("a stream that drops is taken up from the checkpoint", async () => {
    const options = { local: { enableAgentRetries: true } };
    const script = '@sim say one ;; call look {"at":"z"} ;; fault rst ;; say and two, {{reused}}';
    const { status, text } = await bench.ask(script, options);
    expect([status, text]).toEqual(["finished", "oneand two, checkpoint"]);
    expect(bench.kinds("run_request")).toHaveLength(2);
    expect(bench.kinds("run_request")[1]?.message).toMatchObject({ runRequest: { action: { resumeAction: {} } } });
  });

  it.each(["goaway", "tcp-reset", "truncate", "end-without-turn-ended"])("so it is after %s", async (fault) => {
    const options = { local: { enableAgentRetries: true } };
    const { status, text } = await bench.ask(`@sim say one ;; fault ${fault} ;; say \\ntwo`, options);
    expect([status, text]).toEqual(["finished", "one\ntwo"]);
  });

  it("an error that passes is tried again", async () => {
    const options = { local: { enableAgentRetries: true } };
    const { status, text } = await bench.ask("@sim fail unavailable times=1 not now ;; say now", options);
    expect([status, text]).toEqual(["finished", "now"]);
  });

  it.each(["gzip", "split", "late-checkpoint", "dup-frame"])("oddities that must not matter: %s", async (fault) => {
    const { status, text } = await bench.ask(`@sim fault ${fault} ;; call look {"at":"o"} ;; say {{result}}`);
    expect([status, text]).toEqual(["finished", 'looked at {"at":"o"}']);
  });

  it("is steered while it answers", async () => {
    const agent = await bench.agent();
    let steered: Promise<unknown> | undefined;
    const { status, text } = await bench.sdk.send(agent, "@sim tokens 30 20", ({ type }) => {
      if (type === "assistant") steered ??= bench.sdk.steer(agent, "@sim say and turned");
    });
    expect(status).toBe("finished");
    expect(text).toMatch(/t29and turned$/);
    expect(await steered).toBe("complete_delivered");
  });

  it("silence longer than a heartbeat", async () => {
    const { status, text } = await bench.ask("@sim silent 6000 ;; say awake");
    expect([status, text]).toEqual(["finished", "awake"]);
    expect(bench.kinds("heartbeat").length).toBeGreaterThan(0);
  });

  it("its own tools, in its own folder", async () => {
    const agent = await bench.agent();
    const { cwd } = bench;
    const run = async (step: string) => {
      const { text, error } = await bench.sdk.send(agent, `@sim exec ${step} ;; say {{result}}`);
      return error ?? text;
    };
    writeFileSync(join(cwd, "a.txt"), "alpha\nbeta\n");
    mkdirSync(join(cwd, "sub"));
    writeFileSync(join(cwd, "sub", "b.ts"), "export const beta = 1;\n");

    expect(await run(`read {"path":"${cwd}/a.txt"}`)).toBe("alpha\nbeta\n");
    expect(await run(`read {"path":"${cwd}/none.txt"}`)).toMatch(/not found/);
    const listed = await run(`ls {"path":"${cwd}"}`);
    expect(listed).toContain("a.txt");
    expect(listed).toContain("b.ts");
    const found = await run(`grep {"pattern":"beta","path":"${cwd}","outputMode":"content"}`);
    expect(found).toContain("a.txt:2:beta");
    expect(found).toContain("b.ts:1:export const beta = 1;");
    await run(`write {"path":"${cwd}/new.txt","fileText":"written"}`);
    expect(readFileSync(join(cwd, "new.txt"), "utf8")).toBe("written");
    expect(await run(`delete {"path":"${cwd}/new.txt"}`)).toBe(`deleted ${cwd}/new.txt`);
    const shell = `{"command":"echo out && cat a.txt | head -1","workingDirectory":"${cwd}"}`;
    expect(await run(`shell_stream ${shell}`)).toBe("out\nalpha\n");
    expect(await run(`shell ${shell}`)).toBe("out\nalpha\n");
    expect(await run(`shell_stream {"command":"exit 3","workingDirectory":"${cwd}"}`)).toBe("[exit 3]");
    expect(await run(`diagnostics {"path":"${cwd}/sub/b.ts"}`)).toBe("");
    await using page = await servePage("a page");
    expect(await run(`fetch {"url":"${page.url}"}`)).toContain("a page");
    expect(await run("#99")).toContain("No handler");
    expect(bench.sdk.stderr).toBe("");
  });

  it("two of its own tools at once", async () => {
    const shell = (command: string) => `exec shell_stream {"command":"${command}","workingDirectory":"${bench.cwd}"}`;
    const { text } = await bench.ask(
      `@sim ${shell("sleep 0.5; echo one")} ;; ${shell("echo two")} ;; say {{result.0}}{{result.1}}`,
    );
    expect(text).toBe("one\ntwo\n");
  });

  it("questions: it approves a search and declines to choose", async () => {
    const search = '{"webSearchRequestQuery":{"args":{"searchTerm":"x"}}}';
    expect((await bench.ask(`@sim ask ${search} ;; say {{result}}`)).text).toBe("approved");
    const question =
      '{"askQuestionInteractionQuery":{"args":{"title":"Which?","questions":[{"id":"q","prompt":"Which?"}]}}}';
    expect((await bench.ask(`@sim ask ${question} ;; say {{result}}`)).text).toMatch(/reject/i);
  });

  it("many runs in a row without a stall", async () => {
    const agent = await bench.agent();
    for (let n = 0; n < 24; n++) {
      const start = performance.now();
      expect(await bench.sdk.send(agent, `@sim say run ${n}`)).toMatchObject({ status: "finished", text: `run ${n}` });
      expect(performance.now() - start).toBeLessThan(5000);
    }
  });

  it("many runs at once", async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => bench.agent()));
    const script = '@sim call slow {"ms":50,"text":"x"} ;; tokens 50 2';
    const outcomes = await Promise.all(agents.map((agent) => bench.sdk.send(agent, script)));
    expect(outcomes.map(({ status }) => status)).toEqual(agents.map(() => "finished"));
  });
});

describe("what the official client does not do", () => {
  it.each(["h2", "h1"] as const)("answer a question it does not know, over %s", async (hostConfig) => {
    await using bench = await Bench.start({ hostConfig, answerTimeoutMs: 1500 });
    const { status, error } = await bench.ask("@sim ask #99 ;; say never");
    expect(status).toBe("error");
    expect(error).toContain("#99 was not answered");
  });
});

describe("the official client over TLS", () => {
  it.each(["h2", "h1"] as const)("%s", async (hostConfig) => {
    const { cert, key } = makeCertificate("127.0.0.1");
    const authority = join(makeFolder(), "ca.pem");
    writeFileSync(authority, cert);
    const tls = { cert: cert.toString(), key: key.toString() };
    await using bench = await Bench.start({ hostConfig, tls }, { NODE_EXTRA_CA_CERTS: authority });
    const { text, error } = await bench.ask('@sim call look {"at":"x"} ;; say {{result}}');
    expect(error).toBeUndefined();
    expect(text).toBe('looked at {"at":"x"}');
    expect(bench.kinds("open").map(({ transport }) => transport)).toEqual([hostConfig]);
  });
});

async function servePage(text: string): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => response.end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
