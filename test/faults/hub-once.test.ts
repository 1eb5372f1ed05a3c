import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { describe, expect, it, vi } from "vitest";
import { excursor } from "../cli/support/excursor.ts";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { type Answer, answersTo, type Messages, TOOLS } from "../gateway/support/tool-client.ts";

const SERVER = fileURLToPath(new URL("../mcp/support/counting-server.ts", import.meta.url));

/** A gateway with one server, `odd`, that counts its calls. */
async function setUp() {
  const stage = await setUpGateway();
  const folder = join(stage.home, "counted");
  mkdirSync(folder);
  const mcpServers = { odd: { command: process.execPath, args: [SERVER, folder] } };
  writeFileSync(join(stage.home, "mcp.json"), JSON.stringify({ mcpServers, keys: { "*": ["odd"] } }), { mode: 0o600 });
  const count = () => (existsSync(join(folder, "count")) ? readFileSync(join(folder, "count"), "utf8").length : 0);
  return {
    ...stage,
    ...(await stage.start("--tools", "hub")),
    restart: () => stage.start("--tools", "hub"),
    count,
    /** Lets slow calls end. */
    go: () => writeFileSync(join(folder, "go"), ""),
    calling: (calls = 1) => vi.waitFor(() => expect(count()).toBe(calls), 20_000),
  };
}

const ask = (client: OpenAI, messages: Messages, signal?: AbortSignal): Promise<Answer> =>
  client.chat.completions
    .create({ model: "gpt-5.5", messages, tools: TOOLS }, { signal: signal ?? null })
    .then(({ choices }) => choices[0]?.message as Answer);

const question = (content: string): Messages => [{ role: "user", content }];

/** The client's and the hub's call in one batch, and one of the hub's after the results. */
const MIXED = '@sim say first ;; call look {"at":"x"} ;; call odd__count {} ;; say got {{result.0}} and {{result.1}}';
const LATER = '@sim call look {"at":"x"} ;; wait ;; say so: ;; call odd__count {} ;; say {{result}}';

describe("a call of the hub's is made once", { timeout: 60_000 }, () => {
  it.each([
    ["made beside the client's own", MIXED, "got saw x and count is 1"],
    ["made after the client's results", LATER, "so:\n\ncount is 1"],
  ])("however often a follow-up is repeated: %s", async (_, prompt, said) => {
    const { client, count } = await setUp();
    const first = await ask(client, question(prompt));
    const followUp = [...question(prompt), first, ...answersTo(first)];
    for (const _repeat of [1, 2, 3]) expect((await ask(client, followUp)).content).toBe(said);
    expect(count()).toBe(1);
  });

  it("however often a follow-up is repeated that has text after its results", async () => {
    const { client, count } = await setUp();
    const first = await ask(client, question('@sim call look {"at":"x"} ;; wait'));
    const text = question("@sim call odd__count {} ;; say {{result}}");
    const followUp = [...question('@sim call look {"at":"x"} ;; wait'), first, ...answersTo(first), ...text];
    for (const _repeat of [1, 2, 3]) expect((await ask(client, followUp)).content).toBe("count is 1");
    expect(count()).toBe(1);
  });

  it.each([
    ["MIXED", MIXED.replace("count {}", "slow {}"), "got saw x and count is 1"],
    ["LATER", LATER.replace("count {}", "slow {}"), "so:\n\ncount is 1"],
  ])("if repeats come at the same time: %s", async (_, prompt, said) => {
    const { client, count, go, calling } = await setUp();
    const first = await ask(client, question(prompt));
    const followUp = [...question(prompt), first, ...answersTo(first)];
    const answers = [1, 2, 3].map(() => ask(client, followUp));
    await calling();
    go();
    expect((await Promise.all(answers)).map(({ content }) => content)).toEqual([said, said, said]);
    expect(count()).toBe(1);
  });

  it.each([
    ["a follow-up", LATER.replace("count {}", "slow {}")],
    ["a question", "@sim say so: ;; call odd__slow {} ;; say {{result}}"],
  ])("if the client leaves in the middle and comes back soon: %s", async (_, prompt) => {
    const { client, count, go, calling, log } = await setUp();
    let messages = question(prompt);
    if (prompt.includes("look")) {
      const first = await ask(client, messages);
      messages = [...messages, first, ...answersTo(first)];
    }
    const leave = new AbortController();
    const left = ask(client, messages, leave.signal).catch(() => {});
    await calling();
    leave.abort();
    await left;
    await expect.poll(log).toContain('"error":"client_gone"');
    const again = ask(client, messages);
    go();
    // The call goes on for a while; on a slow machine the client may come back too late for its result.
    expect((await again).content).toMatch(/^so:\n\n(?:count is 1$|The outcome of this call is unknown)/);
    expect(count()).toBe(1);
  });

  it("if the gateway is killed after it: the replayed conversation has the call and its result", async () => {
    const { client, count, stop, restart, trace } = await setUp();
    const first = await ask(client, question(MIXED));
    await vi.waitFor(() => expect(count()).toBe(1));
    const followUp = [...question(MIXED), first, ...answersTo(first)];
    expect((await ask(client, followUp)).content).toBe("got saw x and count is 1");
    await stop("SIGKILL");
    const { client: next } = await restart();
    const runs = trace.filter(({ kind }) => kind === "run_request").length;
    expect((await ask(next, followUp)).content).toBe("got saw x and count is 1");
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(runs + 1);
    expect(count()).toBe(1);
  });

  it.each([
    ["beside the client's", MIXED.replace("count {}", "slow {}"), /^got saw x and .*outcome of this call is unknown/],
    ["after the client's", LATER.replace("count {}", "slow {}"), /^so:\n\n.*outcome of this call is unknown/],
    ["in answer to a question", "@sim say so: ;; call odd__slow {} ;; say {{result}}", /^so:\n\n.*is unknown/],
  ])("if the gateway is killed in the middle of it: the model is told so, %s", async (_, prompt, said) => {
    const { client, count, stop, restart, calling } = await setUp();
    let messages = question(prompt);
    if (prompt.includes("look")) {
      const first = await ask(client, messages);
      messages = [...messages, first, ...answersTo(first)];
    }
    const broken = expect(ask(client, messages)).rejects.toThrow();
    await calling();
    await stop("SIGKILL");
    await broken;
    const { client: next } = await restart();
    expect((await ask(next, messages)).content).toMatch(said);
    // A question that has its answer may be meant anew; a follow-up is the same one for ever.
    if (prompt.includes("look")) expect((await ask(next, messages)).content).toMatch(said);
    expect(count()).toBe(1);
  });

  it("and a finished question that is asked again is a new one", async () => {
    const { client, count } = await setUp();
    const messages = question("@sim call odd__count {} ;; say {{result}}");
    expect((await ask(client, messages)).content).toBe("count is 1");
    expect((await ask(client, messages)).content).toBe("count is 2");
    const both = await Promise.all([ask(client, messages), ask(client, messages)]);
    expect(both.map(({ content }) => content).sort()).toEqual(["count is 3", "count is 4"]);
    expect(count()).toBe(4);
  });

  it("for each principal by itself, and in a fork the shared part is not made again", async () => {
    const { client, url, home, count } = await setUp();
    const environment = { EXCURSOR_HOME: home };
    const { stdout } = await excursor(["keys", "add", "laptop"], { environment }).exited;
    const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: stdout.trim(), maxRetries: 0 });
    const isThere = async () =>
      expect((await ask(other, question("@sim say {{tools}}"))).content).toContain("odd__count");
    await vi.waitFor(isThere, 20_000);
    const first = await ask(client, question(LATER));
    const followUp = [...question(LATER), first, ...answersTo(first)];
    expect((await ask(client, followUp)).content).toBe("so:\n\ncount is 1");
    expect((await ask(other, followUp)).content).toBe("so:\n\ncount is 2");

    const mixed = await ask(client, question(MIXED));
    await vi.waitFor(() => expect(count()).toBe(3));
    const [result] = answersTo(mixed);
    const fork = [...question(MIXED), mixed, { ...result, content: "something else" }] as Messages;
    expect((await ask(client, fork)).content).toBe("got something else and count is 3");
    const asked = [...fork, { role: "user", content: "@sim say {{result.1}}" }] as Messages;
    await ask(client, asked);
    expect(count()).toBe(3);
  });
});
