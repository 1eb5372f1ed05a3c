import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Turn, textOf } from "../../../../src/core/turn.ts";
import type { AgentClientMessage } from "../../../../src/gen/agent/v1/run_pb.ts";
import { CALLS, call, STOP, say } from "../../../faces/cursor/support/models.ts";
import { program } from "../../../mcp-servers/support/everything.ts";
import { OWN, rounds, setUpOwnRuns, TRANSPORTS } from "./support/stage.ts";

/** One pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);

describe.each(TRANSPORTS)("the official client with our own models, over %s", (hostConfig) => {
  it("works on a real workspace", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(
      hostConfig,
      rounds(
        [
          { type: "thinking", text: "hm" },
          { type: "thinking-done", durationMs: 3, signature: "sig" },
          say("Working. "),
          call("c1", "edit", { path: "crlf.txt", old_text: "one\ntwo", new_text: "one\n2" }),
          call("c2", "write", { path: "sub/new.txt", content: "new\n" }),
          call("c3", "shell", { command: "echo hi > made.txt && pwd" }),
          CALLS,
        ],
        [
          call("c4", "read", { path: "sub/new.txt" }),
          call("c5", "grep", { pattern: "three" }),
          call("c6", "glob", { pattern: "**/*.txt" }),
          call("c7", "ls", { path: "." }),
          CALLS,
        ],
        [call("c8", "delete", { path: "made.txt" }), CALLS],
        [say("All done."), STOP],
        [say("Second."), STOP],
      ),
    );
    await using sdk = startSdk();
    writeFileSync(join(cwd, "crlf.txt"), "\uFEFFone\r\ntwo\r\nthree\r\n");
    await sdk.create("a", agent);
    const { status, text, thinking, messages } = await sdk.send("a", "go");
    expect([status, text, thinking]).toEqual(["finished", "Working. All done.", "hm"]);
    expect(readFileSync(join(cwd, "crlf.txt"), "utf8")).toBe("\uFEFFone\r\n2\r\nthree\r\n");
    expect(readFileSync(join(cwd, "sub/new.txt"), "utf8")).toBe("new\r\n"); // the official client takes the line ending of the workspace
    expect(existsSync(join(cwd, "made.txt"))).toBe(false);
    expect(JSON.stringify(turns[1]?.messages)).toContain(`${cwd}\\n`);
    const results = (turns[2]?.messages ?? []).slice(-4).map(({ content }) => textOf(content));
    expect(results[0]).toContain("new");
    expect(results[1]).toMatch(/crlf\.txt:3:three/);
    for (const name of ["crlf.txt", "new.txt", "made.txt"]) {
      expect(results[2]).toContain(name);
      expect(results[3]).toContain(name);
    }
    const completed = messages.filter(({ type, status: state }) => type === "tool_call" && state === "completed");
    expect(completed.map(({ name }) => name).sort()).toEqual(
      ["delete", "edit", "edit", "glob", "grep", "ls", "read", "shell"].sort(),
    );
    const second = await sdk.send("a", "and again");
    expect([second.status, second.text]).toEqual(["finished", "Second."]);
    const kept = turns[4]?.messages ?? [];
    expect(
      kept.flatMap((m) => (m.role === "assistant" ? m.content : [])).find(({ type }) => type === "thinking"),
    ).toMatchObject({ signature: "sig" });
    expect(sdk.stderr).toBe("");
  });

  it("calls custom tools in parallel", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(
      hostConfig,
      rounds(
        [call("c1", "slow", { ms: 300, text: "one" }), call("c2", "slow", { ms: 1, text: "two" }), CALLS],
        [call("c3", "boom", {}), CALLS],
        [say("looked"), STOP],
      ),
    );
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const outcome = await sdk.send("a", "go");
    expect([outcome.status, outcome.text]).toEqual(["finished", "looked"]);
    expect(sdk.slowTexts).toEqual(["two", "one"]);
    expect(turns[1]?.messages.slice(-2).map(({ content }) => textOf(content))).toEqual(["one", "two"]);
    expect(turns[2]?.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
    expect(textOf(turns[2]?.messages.at(-1)?.content ?? [])).toContain("boom went off");
  });

  it("calls tools of the MCP servers that the program gave it", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(
      hostConfig,
      rounds(
        [call("c1", "echo", { message: "over MCP" }), call("c2", "get-tiny-image", {}), CALLS],
        [say("called"), STOP],
      ),
    );
    await using sdk = startSdk();
    const everything = { command: process.execPath, args: [program("server-everything")] };
    await sdk.create("a", { ...agent, mcpServers: { everything } });
    const outcome = await sdk.send("a", "go");
    expect([outcome.status, outcome.text, outcome.error]).toEqual(["finished", "called", undefined]);
    const echo = turns[0]?.tools.find(({ name }) => name === "echo");
    expect(echo?.schema).toMatchObject({ properties: { message: { type: "string" } } });
    const [echoed, image] = turns[1]?.messages.slice(-2) ?? [];
    expect(textOf(echoed?.content ?? [])).toBe("Echo: over MCP");
    expect(image?.content.find(({ type }) => type === "image")).toMatchObject({ mediaType: "image/png" });
  });

  it("shows images to the model, and again in later turns", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([say("seen"), STOP], [call("c1", "read", { path: "dot.png" }), CALLS], [say("read"), STOP]),
    );
    await using sdk = startSdk();
    writeFileSync(join(cwd, "dot.png"), PNG);
    await sdk.create("a", agent);
    const images = [{ data: PNG.toString("base64"), mimeType: "image/png" }];
    expect((await sdk.send("a", { text: "look", images })).text).toBe("seen");
    expect((await sdk.send("a", "and at the file")).text).toBe("read");
    const image = { type: "image", mediaType: "image/png" };
    for (const turn of turns) {
      const [first] = turn.messages;
      expect(first?.content.filter(({ type }) => type === "image")).toMatchObject([image]);
    }
    const [shown] = turns[2]?.messages.at(-1)?.content ?? [];
    expect(shown?.type === "image" && Buffer.from(shown.data).equals(PNG)).toBe(true);
  });

  it("cancels in the middle of a tool, and goes on", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([call("c1", "hang", {}), CALLS], [say("fine"), STOP]),
    );
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const called = sdk.toolCalled("hang");
    const first = sdk.send("a", "go");
    await called;
    await sdk.cancel("a");
    expect((await first).status).toBe("cancelled");
    const next = await sdk.send("a", "next");
    expect([next.status, next.text, next.error]).toEqual(["finished", "fine", undefined]);
    expect(turns[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it("obeys tools: [] and lists of tools", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([call("c1", "shell", { command: "touch made" }), CALLS], [say("ok"), STOP], [say("ok"), STOP]),
    );
    await using sdk = startSdk();
    await sdk.create("none", { ...agent, tools: [] });
    const { status, text } = await sdk.send("none", "go");
    expect([status, text, turns[0]?.tools]).toEqual(["finished", "ok", []]);
    expect(textOf(turns[1]?.messages.at(-1)?.content ?? [])).toContain('There is no tool "shell"');
    await sdk.create("some", { ...agent, tools: ["read", "webFetch", "readLints"] });
    await sdk.send("some", "go");
    expect(turns[2]?.tools.map(({ name }) => name)).toEqual(["read", "diagnostics", "fetch"]);
  });

  it("lets the model change nothing in plan mode", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([call("c1", "write", { path: "made", content: "x" }), CALLS], [say("the plan"), STOP]),
    );
    await using sdk = startSdk();
    await sdk.create("a", { ...agent, mode: "plan" });
    const { status, text } = await sdk.send("a", "go");
    expect([status, text, existsSync(join(cwd, "made"))]).toEqual(["finished", "the plan", false]);
    const names = turns[0]?.tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["read", "grep", "look"]));
    for (const name of ["shell", "write", "edit", "delete"]) expect(names).not.toContain(name);
  });

  it("reads the rules and the environment of the workspace", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(hostConfig, rounds([say("ok"), STOP]));
    await using sdk = startSdk();
    writeFileSync(join(cwd, "AGENTS.md"), "Be kind to the tests.");
    await sdk.create("a", {
      ...agent,
      systemPrompt: "You are a pirate.",
      local: { ...agent.local, settingSources: ["all"] },
    });
    await sdk.send("a", "go");
    const { system = "" } = turns[0] ?? {};
    for (const part of ["You are a pirate.", cwd, "Be kind to the tests."]) expect(system).toContain(part);
  });

  it("looks for diagnostics, fetches pages, keeps a todo list, and shows an edit as a diff", async () => {
    const page = createServer((_request, response) => response.end("a page"));
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void page.close());
    const { port } = page.address() as AddressInfo;
    const todos = [{ id: "1", content: "Look", status: "pending" }];
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(
      hostConfig,
      rounds(
        [
          call("c1", "diagnostics", { path: "a.ts" }),
          call("c2", "fetch", { url: `http://127.0.0.1:${port}/` }),
          call("c3", "todo", { todos }),
          call("c4", "edit", { path: "a.ts", old_text: "one", new_text: "two" }),
          call("c5", "edit", { path: "latin1.txt", old_text: "caf", new_text: "tea" }),
          CALLS,
        ],
        [say("ok"), STOP],
        [call("c6", "todo", { merge: true, todos: [{ id: "2", content: "Leap", status: "completed" }] }), CALLS],
        [say("ok"), STOP],
      ),
    );
    await using sdk = startSdk();
    writeFileSync(join(cwd, "a.ts"), "const one = 1;\n");
    writeFileSync(join(cwd, "latin1.txt"), Buffer.from("caf\u00e9\n", "latin1"));
    const tools = ["readLints", "webFetch", "updateTodos", "edit"];
    await sdk.create("a", { ...agent, tools });
    const { status, messages } = await sdk.send("a", "go");
    expect(status).toBe("finished");
    const results = (turns[1]?.messages ?? []).slice(-5);
    const texts = results.map(({ content }) => textOf(content));
    expect(results.filter((message) => message.role === "tool" && message.isError)).toEqual([]);
    expect(texts[1]).toContain("a page");
    expect(readFileSync(join(cwd, "latin1.txt"), "latin1")).toBe("tea\u00e9\n");
    expect(readFileSync(join(cwd, "a.ts"), "utf8")).toBe("const two = 1;\n");
    const shown = messages.filter(({ name, status: state }) => name === "edit" && state === "completed");
    expect(JSON.stringify(shown)).toContain("-const one = 1;\\n+const two = 1;");
    await sdk.send("a", "more");
    expect(textOf(turns[3]?.messages.at(-1)?.content ?? [])).toBe("[pending] Look\n[completed] Leap");
  });

  it("is steered while the model answers", async () => {
    const { promise: steered, resolve } = Promise.withResolvers<void>();
    const answer = async (_turn: Turn, nth: number) => {
      if (nth === 1) await steered;
      return nth < 2 ? [call("c", "slow", { ms: 1, text: `step ${nth}` }), CALLS] : [say("steered"), STOP];
    };
    const onMessage = ({ message }: AgentClientMessage) => message.case === "conversationAction" && resolve();
    const { startSdk, turns, agent } = await setUpOwnRuns(hostConfig, answer, { onMessage });
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const running = sdk.send("a", "go");
    await expect.poll(() => turns.length, { timeout: 30_000 }).toBe(2);
    const steering = sdk.steer("a", "also this");
    expect(await steering).toBe("complete_delivered");
    expect(await running).toMatchObject({ status: "finished", text: "steered" });
    expect(turns[2]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "user",
    ]);
    expect(textOf(turns[2]?.messages.at(-1)?.content ?? [])).toBe("also this");
  });

  it("refuses a second message of the program while a run is going", async () => {
    const { startSdk, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([call("c1", "hang", {}), CALLS], [say("2"), STOP]),
    );
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const called = sdk.toolCalled("hang");
    const first = sdk.send("a", "go");
    await called;
    await expect(sdk.send("a", "me too")).rejects.toThrow(/already has an active run|busy|active/i);
    await sdk.cancel("a");
    expect((await first).status).toBe("cancelled");
  });

  it("goes on with our model in a conversation of the account's", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(hostConfig, rounds([say("mine"), STOP]));
    await using sdk = startSdk();
    await sdk.create("a", { ...agent, model: { id: "composer-2.5" } });
    const script = '@sim think hm ;; say one ;; call look {"at":"x"} ;; say two';
    expect((await sdk.send("a", script)).status).toBe("finished");
    const { status, text, error } = await sdk.send("a", "and now you", undefined, { model: OWN });
    expect([status, text, error]).toEqual(["finished", "mine", undefined]);
    const told = (turns[0]?.messages ?? []).flatMap(({ role, content }) =>
      content.map((part) => [role, part.type === "tool-call" ? part.name : "text" in part ? part.text : part.type]),
    );
    expect(told).toEqual([
      ["user", script],
      ["assistant", "hm"],
      ["assistant", "one"],
      ["assistant", "look"],
      ["tool", 'looked at {"at":"x"}'],
      ["assistant", "two"],
      ["user", "and now you"],
    ]);
  });
});
