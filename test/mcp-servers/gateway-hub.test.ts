import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { excursor } from "../cli/support/excursor.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { answersTo, callsOf, type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { startOAuthServer } from "../mcp/support/oauth-server.ts";
import { isAlive, untilGone } from "../process/support/alive.ts";

const SERVER = fileURLToPath(new URL("../mcp/support/scripted-server.ts", import.meta.url));

/** A gateway whose user has set up one server, which is called `srv`. */
async function setUp(flags: readonly string[] = [], file: object = {}) {
  const stage = await setUpGateway();
  const mcpServers = { srv: { command: process.execPath, args: [SERVER] }, broken: { command: "no-such-program" } };
  writeFileSync(join(stage.home, "mcp.json"), JSON.stringify({ mcpServers, ...file }), { mode: 0o600 });
  const gateway = await stage.start(...flags);
  return { ...stage, ...gateway };
}

const ask = (
  client: OpenAI,
  messages: Messages | string,
  options: { model?: string; tools?: typeof TOOLS; headers?: Record<string, string> } = {},
) => {
  const { model = "gpt-5.5", headers = {}, tools } = options;
  const conversation: Messages = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  return client.chat.completions
    .create({ model, messages: conversation, ...(tools && { tools }) }, { headers })
    .then(({ choices }) => choices[0]?.message as OpenAI.ChatCompletionMessage);
};

const PROMPT = '@sim say so: ;; call srv__echo {"a":1} ;; say it said {{result}} on the same {{reused}}';

describe("tools that the gateway runs", () => {
  it("answer with their results on the same upstream stream, and the next turn knows of them", async () => {
    const { client, trace } = await setUp(["--tools", "hub"]);
    const answer = await ask(client, PROMPT);
    expect(answer.content).toBe('so:\n\nit said {"a":1} on the same stream');
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    const next = await ask(client, [
      { role: "user", content: PROMPT },
      answer,
      { role: "user", content: "@sim say {{reused}}" },
    ]);
    expect(next.content).toBe("checkpoint");
  });

  it("are there for those that want them: by settings, by model, by header", async () => {
    const { client } = await setUp();
    const prompt = "@sim call srv__echo {} ;; say got {{result}}";
    expect((await ask(client, prompt)).content).not.toContain("got {}");
    // They are started by the first turn that wants them, which does not wait until they are.
    await vi.waitFor(
      async () => expect((await ask(client, prompt, { model: "gpt-5.5:hub" })).content).toBe("got {}"),
      20_000,
    );
    const headers = { "x-excursor-tools": "hub" };
    expect((await ask(client, prompt, { headers })).content).toBe("got {}");
    expect(
      (await ask(client, prompt, { model: "gpt-5.5:hub", headers: { "x-excursor-tools": "client" } })).content,
    ).not.toContain("got {}");
    await expect(ask(client, prompt, { headers: { "x-excursor-tools": "all" } })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("x-excursor-tools: expected hub or client."),
    });
  });

  it("one whose schema the backend cannot take is left out, and the others work", async () => {
    let deep: object = { type: "string" };
    for (let level = 0; level < 40; level++) deep = { items: deep };
    const inputSchema = { type: "object" };
    const tools = [
      { name: "echo", inputSchema },
      { name: "deep", inputSchema: { ...inputSchema, properties: { deep } } },
    ];
    const args = [SERVER, JSON.stringify({ tools })];
    const { client, log } = await setUp(["--tools", "hub"], {
      mcpServers: { srv: { command: process.execPath, args } },
    });
    expect((await ask(client, '@sim call srv__echo {"a":1} ;; say {{result}} {{tools}}')).content).toBe(
      '{"a":1} srv__echo',
    );
    expect((await ask(client, "@sim say {{tools}}")).content).toBe("srv__echo");
    const warnings = () =>
      log()
        .split("\n")
        .filter((line) => line.includes('"srv__deep"'));
    await expect.poll(() => warnings().length).toBe(1);
  });

  it("mix with the client's own in one turn", async () => {
    const { client, trace } = await setUp(["--tools", "hub"]);
    const messages: Messages = [
      {
        role: "user",
        content:
          '@sim call srv__echo {"n":1} ;; wait ;; call look {"at":"x"} ;; call srv__echo {"n":2} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
      },
    ];
    const first = await ask(client, messages, { tools: TOOLS });
    expect(callsOf(first)).toEqual([{ id: expect.stringMatching(/^sess_/), at: "x" }]);
    const second = await ask(client, [...messages, first, ...answersTo(first)], { tools: TOOLS });
    expect(second.content).toBe('{"n":1} saw x {"n":2} stream');
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });

  it("fail as results, and their progress is seen", async () => {
    const { client, url } = await setUp(["--tools", "hub"]);
    expect((await ask(client, "@sim call srv__fail {} ;; say {{result}}")).content).toContain("it went wrong");
    expect((await ask(client, "@sim call srv__exit {} ;; say {{result}}")).content).toContain("exited with code 3");
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-5.5",
        stream: true,
        messages: [{ role: "user", content: "@sim call srv__slow {} ;; say {{result}}" }],
      }),
    });
    const body = await response.text();
    expect(body).toMatch(/^: srv__slow: \d\/3 step \d$/m);
    expect(body).toContain("done");
  });

  it("have lines in the log and on the terminal of `excursor chat`", async () => {
    const { url, home, log } = await setUp(["--tools", "hub"]);
    const prompt = '@sim say so: ;; call srv__slow {"word":"canary"} ;; say it is {{result}}';
    const { stdout, stderr } = await excursor(["chat", "--url", url, "--key", KEY, prompt], {
      environment: { EXCURSOR_HOME: home },
    }).exited;
    expect(stdout).toBe("so:\n\nit is done\n");
    expect(stderr).toMatch(/^→ srv__slow: started$/m);
    expect(stderr).toMatch(/^→ srv__slow: 3\/3 step 3$/m);
    expect(stderr).toMatch(/^→ srv__slow: done after \d+ ms$/m);
    const lines = () =>
      log()
        .split("\n")
        .filter((line) => line.includes('"hub tool call"'))
        .map((line) => JSON.parse(line));
    await expect.poll(() => lines().length).toBe(3);
    const common = { principal: "owner", tool: "srv__slow", server: "srv", serverTool: "slow" };
    expect(lines()).toMatchObject([
      { ...common, event: "asked" },
      { ...common, event: "started" },
      { ...common, event: "finished", outcome: "ok", ms: expect.any(Number), bytes: 4 },
    ]);
    expect(log()).not.toContain("canary");
  });

  it("ask the user of whichever request the run goes on with", async () => {
    const { client, url } = await setUp(["--tools", "hub"]);
    const messages: Messages = [
      { role: "user", content: '@sim call look {"at":"x"} ;; wait ;; call srv__ask {} ;; say {{result}} {{reused}}' },
    ];
    const first = await ask(client, messages, { tools: TOOLS });
    const post = (path: string, body: object) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", "x-excursor-asks": "1" },
        body: JSON.stringify(body),
      });
    const conversation = [...messages, first, ...answersTo(first)];
    const { body } = await post("/v1/chat/completions", {
      model: "gpt-5.5",
      stream: true,
      messages: conversation,
      tools: TOOLS,
    });
    let received = "";
    let isAnswered = false;
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      received += text;
      const [, question] = /^: excursor-question (.*)\n\n/m.exec(received) ?? [];
      if (question === undefined || isAnswered) continue;
      isAnswered = true;
      const answer = { id: JSON.parse(question).id, action: "accept", content: { name: "Ann" } };
      expect((await post("/excursor/answers", answer)).status).toBe(200);
    }
    const said = received.matchAll(/"content":("(?:[^"\\]|\\.)*")/g);
    expect([...said].map(([, part = ""]) => JSON.parse(part)).join("")).toBe(
      '{"action":"accept","content":{"name":"Ann"}} stream',
    );
  });

  it("work in every dialect, streamed or whole, and with an answer in JSON", async () => {
    const { url } = await setUp(["--tools", "hub"]);
    const content = '@sim call srv__echo {"a":1} ;; say {"got":{{result}}}';
    const messages = [{ role: "user", content }];
    const post = async (path: string, body: object) => {
      const response = await fetch(`${url}/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-5.5", ...body }),
      });
      return response.text();
    };
    const said = JSON.stringify('{"got":{"a":1}}').slice(1, -1);
    const answers = await Promise.all([
      post("chat/completions", { messages, response_format: { type: "json_object" } }),
      post("responses", { input: content, store: false }),
      post("messages", { messages, max_tokens: 1000 }),
    ]);
    for (const answer of answers) expect(answer).toContain(said);
    const streams = await Promise.all([
      post("chat/completions", { messages, stream: true }),
      post("responses", { input: content, stream: true, store: false }),
      post("messages", { messages, max_tokens: 1000, stream: true }),
    ]);
    for (const stream of streams) {
      expect(stream).toMatch(/\[DONE\]|response\.completed|message_stop/);
      expect(stream.replaceAll(/^: .*$/gm, "")).not.toMatch(/srv__echo|"tool_calls"|"tool_use"|"function_call"/);
    }
  });

  it("a key that was given out may use what it is allowed (SEC-40)", async () => {
    const { home, url } = await setUp(["--tools", "hub"], { keys: { laptop: ["srv/echo"] } });
    const environment = { EXCURSOR_HOME: home };
    const [laptop, phone] = await Promise.all(
      ["laptop", "phone"].map(async (name) => {
        const { stdout } = await excursor(["keys", "add", name], { environment }).exited;
        return new OpenAI({ baseURL: `${url}/v1`, apiKey: stdout.trim(), maxRetries: 0 });
      }),
    );
    const prompt = "@sim call srv__echo {} ;; call srv__environment {} ;; say got {{result}}";
    await vi.waitFor(async () => expect((await ask(laptop as OpenAI, prompt)).content).toBe("got {}"), 20_000);
    expect((await ask(phone as OpenAI, prompt)).content).not.toContain("got {}");
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "servers end with the gateway, and all that they have started: %s",
    async (signal) => {
      const { client, stop } = await setUp(["--tools", "hub"]);
      const { content } = await ask(client, "@sim call srv__fork {} ;; say {{result}}");
      const pids: number[] = JSON.parse(content ?? "");
      expect(pids.every(isAlive)).toBe(true);
      const gateway = spawnSync("ps", ["-o", "ppid=", "-p", String(pids[0])], { encoding: "utf8" }).stdout;
      process.kill(Number(gateway), signal);
      await untilGone(...pids);
      await stop();
    },
  );
});

describe("the servers' file, while the gateway runs", { timeout: 60_000 }, () => {
  const server = { command: process.execPath, args: [SERVER] };
  const answer = async (client: OpenAI, name: string) =>
    (await ask(client, `@sim call ${name}__echo {} ;; say got {{result}}`)).content;

  it("is followed: by hand, by command, from nothing, and a broken one changes nothing", async () => {
    const stage = await setUpGateway();
    const path = join(stage.home, "mcp.json");
    const { client, log } = await stage.start("--tools", "hub");
    expect(await answer(client, "first")).not.toContain("got {}");

    const environment = { EXCURSOR_HOME: stage.home };
    await excursor(["mcp", "add", "first", "--", server.command, ...server.args], { environment }).exited;
    await vi.waitFor(async () => expect(await answer(client, "first")).toBe("got {}"), 20_000);

    writeFileSync(path, '{"mcpServers": {', { mode: 0o600 });
    await vi.waitFor(() => expect(log()).toContain("The MCP servers keep their previous configuration."), 20_000);
    expect(log()).toContain("mcp.json: expected a JSON object.");
    expect(await answer(client, "first")).toBe("got {}");

    writeFileSync(path, JSON.stringify({ mcpServers: { second: server, bad: { args: [] } } }), { mode: 0o600 });
    await vi.waitFor(async () => expect(await answer(client, "second")).toBe("got {}"), 20_000);
    const bad = 'mcp.json: mcpServers.bad: expected an object with \\"command\\" or \\"url\\".';
    await expect.poll(() => log()).toContain(bad);
    expect(await answer(client, "first")).not.toContain("got {}");
  });

  it("and a sign-in is: the gateway says what it needs, opens nothing, and has the tools afterwards", async () => {
    const stage = await setUpGateway({}, { BROWSER: "/nonexistent/never" });
    const safe = await startOAuthServer();
    onTestFinished(() => safe.close());
    writeFileSync(join(stage.home, "mcp.json"), JSON.stringify({ mcpServers: { safe: { url: safe.url } } }));
    const browser = join(stage.home, "browser");
    writeFileSync(browser, `#!${process.execPath}\nfetch(process.argv[2]);\n`, { mode: 0o700 });
    const { client, log } = await stage.start("--tools", "hub");
    expect(await answer(client, "safe")).not.toContain("got {}");
    await expect.poll(log).toContain("requires a sign-in: excursor mcp login safe");
    expect(new Set(safe.pathsAsked())).toEqual(new Set(["/mcp"]));

    const environment = { EXCURSOR_HOME: stage.home, BROWSER: browser };
    expect((await excursor(["mcp", "login", "safe"], { environment }).exited).code).toBe(0);
    await vi.waitFor(async () => expect(await answer(client, "safe")).toBe("got {}"), 20_000);
    const { length } = log();
    await answer(client, "safe");
    await expect.poll(() => log().length).toBeGreaterThan(length);
    expect(log()).not.toMatch(/access-|refresh-|secret-/);
  });
});
