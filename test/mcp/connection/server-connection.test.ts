import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ServerConnection } from "../../../src/mcp/connection/server-connection.ts";
import { HUB_LIMITS } from "../../../src/mcp/limits.ts";
import { untilGone } from "../../process/support/alive.ts";
import { connectionTo, context, scripted, textOf } from "../support/stage.ts";

describe("a server on stdio", () => {
  it("is connected when it is first needed, and called", async () => {
    const { connection } = connectionTo(scripted());
    expect(connection.state).toBe("idle");
    const result = await connection.call("echo", { a: [1] }, context);
    expect(textOf(result)).toBe('{"a":[1]}');
    expect([connection.state, connection.about]).toEqual([
      "ready",
      { transport: "stdio", version: "scripted 1", garbageLines: 0 },
    ]);
    expect(connection.tools).toContainEqual({ name: "echo", description: "does echo", schema: { type: "object" } });
    expect(connection.stderr).toBe("scripted server is up\n");
  });

  it("gets no secret of ours, and its arguments as they are (SEC-42)", async () => {
    const odd = ["; touch x", "$(id)", "%PATH%", "--flag", "a b"];
    const server = scripted();
    const { connection } = connectionTo({ ...server, args: [...server.args, ...odd] });
    const { environment, args } = JSON.parse(textOf(await connection.call("environment", {}, context)));
    expect(environment).not.toHaveProperty("EXCURSOR_TOKEN");
    expect(JSON.stringify(environment)).not.toContain("canary");
    expect(args).toEqual(odd);
  });

  it("may write garbage to its stdout", async () => {
    const { connection } = connectionTo(scripted());
    expect(textOf(await connection.call("garbage", {}, context))).toBe("after the garbage");
    expect(connection.about.garbageLines).toBe(5);
  });

  it("a result of 100 MB is an error that names it, and the next call works", async () => {
    const { connection } = connectionTo(scripted());
    await expect(connection.call("huge", { bytes: 100_000_000 }, context)).rejects.toMatchObject({
      kind: "too-large",
      message: expect.stringContaining('"scripted" sent a message of more than 8 MiB'),
    });
    await vi.waitFor(async () => expect(textOf(await connection.call("echo", {}, context))).toBe("{}"), 10_000);
  });

  it("takes a line of 7 MiB", async () => {
    const { connection } = connectionTo(scripted());
    expect(textOf(await connection.call("huge", { bytes: 7 * 1024 * 1024 }, context))).toHaveLength(7 * 1024 * 1024);
  });

  it("one that never answers costs the time limit of a call", async () => {
    const { connection } = connectionTo(scripted(), { callMs: 100 });
    await connection.connect();
    await expect(connection.call("never", {}, context)).rejects.toMatchObject({
      code: "mcp_timeout",
      message: 'The MCP server "scripted" did not answer a call within 0.1 s.',
    });
    expect(textOf(await connection.call("echo", {}, context))).toBe("{}");
  });

  it("one that never shakes hands costs the time limit of that", async () => {
    const { connection } = connectionTo(scripted({ never: "initialize" }), { connectMs: 300 });
    await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_timeout" });
  });

  it("tells of its progress", async () => {
    const { connection } = connectionTo(scripted());
    const seen: unknown[] = [];
    const result = await connection.call("slow", {}, { ...context, onProgress: (progress) => seen.push(progress) });
    expect(textOf(result)).toBe("done");
    expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });

  it.each([
    ["exit", /"scripted" exited with code 3/],
    ["half", /"scripted" exited with code 0/],
    ["crash", /"scripted" exited with code 1/],
  ])("one that ends in the middle of a call is named, and started again: %s", async (tool, message) => {
    const { connection, troubles } = connectionTo(scripted());
    await expect(connection.call(tool, {}, context)).rejects.toThrow(message);
    await vi.waitFor(async () => expect(textOf(await connection.call("echo", {}, context))).toBe("{}"), 10_000);
    expect(troubles).toEqual([expect.stringMatching(message)]);
  });

  it("one that ends at once is named; the pauses between attempts grow", async () => {
    const { connection, troubles } = connectionTo(scripted({ dies: true }), { backOffMs: 20 });
    await expect(connection.connect()).rejects.toThrow(/exited with code 7/);
    expect(connection.state).toBe("waiting");
    // It does not start once more for each that asks.
    await expect(connection.call("echo", {}, context)).rejects.toThrow(/exited with code 7/);
    await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(1), 10_000);
  });

  it("one that nobody uses is not started time and again", async () => {
    const failing = scripted({ dies: true });
    const idle = connectionTo(failing, { backOffMs: 50, maxBackOffMs: 50 });
    const used = connectionTo(failing, { backOffMs: 50, maxBackOffMs: 50 });
    await expect(idle.connection.connect()).rejects.toThrow(/exited/);
    await idle.connection.rest();
    void used.connection.connect().catch(() => {});
    await vi.waitFor(() => expect(used.troubles.length).toBeGreaterThan(3), 20_000);
    expect(idle.troubles).toHaveLength(1);
    await expect(idle.connection.connect()).rejects.toThrow(/exited/);
    expect(idle.troubles).toHaveLength(2);
  });

  it("is ended with all that it has started", async () => {
    const { connection } = connectionTo(scripted());
    const pids: number[] = JSON.parse(textOf(await connection.call("fork", {}, context)));
    await connection.close();
    await untilGone(...pids);
  });

  it("what it has started ends when it ends by itself, too", async () => {
    const { connection } = connectionTo(scripted());
    const [server = 0, child = 0]: number[] = JSON.parse(textOf(await connection.call("fork", {}, context)));
    process.kill(server, "SIGKILL");
    await untilGone(server, child);
  });

  it("a command that does not exist is named with server and field, and not tried again", async () => {
    const { connection, troubles } = connectionTo(scripted({}, { command: "no-such-program-here" }));
    await expect(connection.connect()).rejects.toMatchObject({
      kind: "config",
      message: 'The MCP server "scripted": command: the program "no-such-program-here" was not found.',
    });
    expect(troubles).toHaveLength(1);
    const folder = scripted({}, { folder: "/no/such/folder" });
    await expect(connectionTo(folder).connection.connect()).rejects.toThrow(
      /"scripted": cwd: the folder does not exist/,
    );
  });

  it("tools that nobody could call are named and left out", async () => {
    const { connection } = connectionTo(
      scripted({
        tools: [
          { name: "good", inputSchema: { type: "object" } },
          { name: "list", inputSchema: [] },
          { name: "text", inputSchema: { type: "string" } },
          { name: "x".repeat(300), inputSchema: { type: "object" } },
          { inputSchema: { type: "object" } },
          { name: "good", inputSchema: { type: "object" } },
          null,
        ],
      }),
    );
    await connection.connect();
    expect(connection.tools.map(({ name }) => name)).toEqual(["good"]);
    expect(connection.problems).toEqual([
      'The MCP server "scripted": tools[1].inputSchema: expected the schema of an object, for "list".',
      'The MCP server "scripted": tools[2].inputSchema: expected the schema of an object, for "text".',
      'The MCP server "scripted": tools[3].name: expected 1 to 256 characters.',
      'The MCP server "scripted": tools[4].name: expected 1 to 256 characters.',
      'The MCP server "scripted": tools[5].name: "good" appears twice.',
      'The MCP server "scripted": tools[6].name: expected 1 to 256 characters.',
    ]);
  });

  it("its list of tools is followed", async () => {
    const { connection } = connectionTo(scripted());
    await connection.call("grow", {}, context);
    await vi.waitFor(() => expect(connection.tools.map(({ name }) => name)).toContain("grown"), 5000);
  });

  it("a question is answered by whoever called, and declined where nobody can", async () => {
    const { connection } = connectionTo(scripted());
    const ask = async (elicit?: Parameters<typeof connection.call>[2]["elicit"]) =>
      JSON.parse(textOf(await connection.call("ask", {}, { ...context, elicit })));
    expect(await ask(async () => ({ action: "accept", content: { name: "Ada" } }))).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
    expect(await ask(async ({ message }) => ({ action: message === "your name?" ? "decline" : "cancel" }))).toEqual({
      action: "decline",
    });
    expect(await ask()).toEqual({ action: "decline" });
    expect(await ask(() => Promise.reject(new Error("gone")))).toEqual({ action: "cancel" });
  });

  it("a question while several calls are under way goes to the most recent caller that can be asked", async () => {
    const { connection, notes } = connectionTo(scripted());
    const asked: string[] = [];
    const answering = (who: string) => async () => {
      asked.push(who);
      return { action: "accept", content: { name: who } } as const;
    };
    const ask = async (who?: string) => {
      const result = await connection.call("ask", {}, { ...context, elicit: who ? answering(who) : undefined });
      return JSON.parse(textOf(result));
    };
    const never = (who: string) =>
      expect(connection.call("never", {}, { ...context, elicit: answering(who) })).rejects.toThrow("closed the conn");
    expect(await ask()).toEqual({ action: "decline" });
    const first = never("first");
    expect(await ask("second")).toEqual({ action: "accept", content: { name: "second" } });
    expect(await ask()).toEqual({ action: "accept", content: { name: "first" } });
    await connection.close();
    await first;
    expect(asked).toEqual(["second", "first"]);
    const about = 'A question of the MCP server "scripted"';
    expect(notes).toEqual([
      `${about} was declined: the client that made the call cannot ask the user.`,
      `${about} came while 2 calls were running; the client of the latest call was asked.`,
      `${about} came while 2 calls were running; the client of the latest call was asked.`,
    ]);
  });

  it("questions of calls at the same time go to different callers", async () => {
    const { connection } = connectionTo(scripted());
    await connection.connect();
    const both = Promise.withResolvers<void>();
    const asked: string[] = [];
    const call = (who: string) => {
      const elicit = async () => {
        if (asked.push(who) === 2) both.resolve();
        await both.promise;
        return { action: "accept", content: { name: who } } as const;
      };
      return connection.call("ask", {}, { ...context, elicit });
    };
    const answers = (await Promise.all([call("a"), call("b")])).map((result) => JSON.parse(textOf(result)));
    expect(asked.sort()).toEqual(["a", "b"]);
    expect(answers.map(({ action }) => action)).toEqual(["accept", "accept"]);
  });

  it("a question stops the clocks of all calls under way", async () => {
    const { connection } = connectionTo(scripted());
    await connection.connect();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const answer = Promise.withResolvers<{ readonly action: "decline" }>();
    const begun = Promise.withResolvers<void>();
    const elicit = () => {
      begun.resolve();
      return answer.promise;
    };
    let isOver = false;
    const never = connection.call("never", {}, context).catch(() => {
      isOver = true;
    });
    const asking = connection.call("ask", {}, { ...context, elicit });
    await begun.promise;
    vi.advanceTimersByTime(HUB_LIMITS.callMs + 1);
    answer.resolve({ action: "decline" });
    await asking;
    expect(isOver).toBe(false);
    vi.advanceTimersByTime(HUB_LIMITS.callMs + 1);
    await never;
    expect(isOver).toBe(true);
  });

  it("a page to open is shown to whoever called, and declined where nobody can or it is no page", async () => {
    const pageOf = async (page: string, elicit?: Parameters<ServerConnection["call"]>[2]["elicit"]) => {
      const { connection } = connectionTo(scripted({ page }));
      return JSON.parse(textOf(await connection.call("page", {}, { ...context, elicit })));
    };
    const page = "https://a.example/login?x=1";
    const asked: object[] = [];
    const accept: Parameters<ServerConnection["call"]>[2]["elicit"] = async (question) => {
      asked.push(question);
      return { action: "accept", content: { leaked: "x" } };
    };
    expect(await pageOf(page, accept)).toEqual({ action: "accept" });
    expect(asked).toEqual([{ server: "scripted", message: "sign in", schema: {}, url: page }]);
    expect(await pageOf(page)).toEqual({ action: "decline" });
    expect(await pageOf("file:///etc/passwd", accept)).toEqual({ action: "decline" });
    expect(asked).toHaveLength(1);
  });

  it("a call that needs a page first shows it, and is not made again by itself", async () => {
    const { connection } = connectionTo(scripted({ page: "https://a.example/login" }));
    const asked: (string | undefined)[] = [];
    const elicit = async ({ url }: { readonly url?: string }) => {
      asked.push(url);
      return { action: "accept", content: {} } as const;
    };
    await expect(connection.call("needs", {}, { ...context, elicit })).rejects.toMatchObject({
      code: "mcp_needs_page",
      message: expect.stringContaining("https://a.example/login (shown to the user)"),
    });
    expect(asked).toEqual(["https://a.example/login"]);
    await expect(connection.call("needs", {}, context)).rejects.toMatchObject({
      message: expect.stringContaining("before this call: https://a.example/login. Repeat the call"),
    });
  });

  it("a question that nobody ever answers is given up", async () => {
    const { connection } = connectionTo(scripted(), { elicitationMs: 20 });
    const result = await connection.call("ask", {}, { ...context, elicit: () => new Promise(() => {}) });
    expect(JSON.parse(textOf(result))).toEqual({ action: "cancel" });
  });

  it("each of many calls at once gets its own result (SEC-30)", async () => {
    const { connection } = connectionTo(scripted());
    const canaries = Array.from({ length: 200 }, (_, n) => ({ canary: `c${n}` }));
    const results = await Promise.all(canaries.map((canary) => connection.call("echo", canary, context)));
    expect(results.map((result) => JSON.parse(textOf(result)))).toEqual(canaries);
  });

  it("a call that is aborted ends at once", async () => {
    const { connection } = connectionTo(scripted());
    await connection.connect();
    const abort = new AbortController();
    const call = connection.call("never", {}, { signal: abort.signal });
    abort.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
  });

  it("an unknown tool is the server's to refuse", async () => {
    const { connection } = connectionTo(scripted());
    await expect(connection.call("nope", {}, context)).rejects.toThrow('"scripted" refused the call of "nope"');
  });
});
