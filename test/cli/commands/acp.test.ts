import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  type ClientConnection,
  client,
  type McpServer,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { startFakeServer } from "../../mcp/support/http-server.ts";
import { untilGone } from "../../process/support/alive.ts";
import { excursor } from "../support/excursor.ts";

const EXCURSOR = fileURLToPath(new URL("../../../bin/excursor.js", import.meta.url));
const SCRIPTED_SERVER = fileURLToPath(new URL("../../mcp/support/scripted-server.ts", import.meta.url));
const SCRIPTED_AGENT = fileURLToPath(new URL("../../drivers/acp/support/scripted-agent.mjs", import.meta.url));

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Editor {
  readonly folder: string;
  readonly connection: ClientConnection;
  readonly updates: SessionUpdate[];
  readonly asked: RequestPermissionRequest[];
  readonly commands: string[];
  readonly exited: Promise<number | null>;
  /** What the user chooses when asked; nothing leaves us without an answer. */
  choice: string;
  /** The terminal's command goes on for ever, even if it is killed. */
  neverExits: boolean;
  /** What its commands say, and how they end. */
  output: { readonly output: string; readonly exitCode: number };
  /** Terminals that were killed and released. */
  readonly ended: string[];
  onRead: (path: string) => string | Promise<never>;
  onAsk: () => void;
  onCommand: () => void;
  /** Closes the window. */
  leave(): Promise<unknown>;
  text(): string;
}

/** An editor: files that are its own, a terminal, and a user. */
async function startEditor(
  config: object = {},
  { upstream, home }: { readonly upstream?: string; readonly home?: string } = {},
): Promise<Editor> {
  const folder = home ?? mkdtempSync(join(tmpdir(), "excursor-editor-"));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const child = spawn(process.execPath, [EXCURSOR, "acp", ...(upstream === undefined ? ["--demo"] : [])], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      EXCURSOR_HOME: folder,
      EXCURSOR_LOG_LEVEL: "error",
      ...(upstream !== undefined && { EXCURSOR_UPSTREAM: upstream, EXCURSOR_TOKEN: "tester" }),
    },
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const editor: Omit<Editor, "connection"> = {
    folder,
    updates: [],
    asked: [],
    commands: [],
    exited,
    choice: "once",
    neverExits: false,
    output: { output: "out of the terminal", exitCode: 3 },
    ended: [],
    onRead: (path) => readFileSync(path, "utf8"),
    onAsk: () => {},
    onCommand: () => {},
    leave: () => {
      child.stdin.end();
      return exited;
    },
    text: () =>
      editor.updates
        .map((update) =>
          update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : "",
        )
        .join(""),
  };
  const killed = Promise.withResolvers<{ signal: string }>();
  const connection = client({ name: "editor" })
    .onNotification("session/update", ({ params }) => void editor.updates.push(params.update))
    .onRequest("session/request_permission", ({ params }) => {
      editor.asked.push(params);
      editor.onAsk();
      if (editor.choice === "") return new Promise<never>(() => {});
      return { outcome: { outcome: "selected", optionId: editor.choice } };
    })
    .onRequest("fs/read_text_file", async ({ params }) => ({ content: await editor.onRead(params.path) }))
    .onRequest("fs/write_text_file", ({ params }) => writeFileSync(params.path, params.content))
    .onRequest("terminal/create", ({ params }) => {
      editor.commands.push([params.command, ...(params.args ?? [])].join(" "));
      editor.onCommand();
      return { terminalId: `t${editor.commands.length}` };
    })
    .onRequest("terminal/wait_for_exit", () => {
      if (editor.neverExits) return new Promise<never>(() => {});
      return editor.commands.at(-1)?.includes("sleep") ? killed.promise : { exitCode: editor.output.exitCode };
    })
    .onRequest("terminal/output", () => ({ output: editor.output.output, truncated: false }))
    .onRequest("terminal/kill", ({ params }) => {
      editor.ended.push(`kill ${params.terminalId}`);
      if (editor.neverExits) return new Promise<never>(() => {});
      return killed.resolve({ signal: "SIGKILL" });
    })
    .onRequest("terminal/release", ({ params }) => void editor.ended.push(`release ${params.terminalId}`))
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>));
  cleanups.push(async () => {
    await editor.leave();
    rmSync(folder, { recursive: true, force: true });
  });
  await connection.agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  return Object.assign(editor, { connection });
}

async function newSession({ connection, folder }: Editor, mcpServers: McpServer[] = []) {
  return connection.agent.request("session/new", { cwd: folder, mcpServers });
}

const prompt = ({ connection }: Editor, sessionId: string, text: string) =>
  connection.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });

describe("excursor acp", () => {
  it("answers in an editor: text, thinking, models, a conversation", async () => {
    const editor = await startEditor();
    const { sessionId, configOptions } = await newSession(editor);
    expect(configOptions).toMatchObject([{ id: "model", category: "model", currentValue: "auto" }]);
    expect(await prompt(editor, sessionId, "@sim think hm ;; say hello")).toEqual({ stopReason: "end_turn" });
    expect(editor.text()).toBe("hello");
    expect(editor.updates).toContainEqual({
      sessionUpdate: "agent_thought_chunk",
      content: { type: "text", text: "hm" },
    });
    editor.updates.length = 0;
    await prompt(editor, sessionId, "@sim say {{history}}");
    expect(editor.text()).toContain("hello");
    const set = { sessionId, configId: "model", value: "gpt-5.5" };
    await editor.connection.agent.request("session/set_config_option", set);
    editor.updates.length = 0;
    await prompt(editor, sessionId, "@sim say {{model}}");
    expect(editor.text()).toContain("gpt-5.5");
    await expect(
      editor.connection.agent.request("session/set_config_option", { ...set, value: "no-such-model" }),
    ).rejects.toMatchObject({ code: -32_602 });
  });

  it("does the model's native reads and shell commands with the editor's files and terminal", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    const file = join(editor.folder, "notes.txt");
    writeFileSync(file, "what it says\n");
    await prompt(editor, sessionId, `@sim exec read {"path":${JSON.stringify(file)}} ;; say {{result}}`);
    expect(editor.text()).toContain("what it says");
    expect(editor.asked).toEqual([]);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: "tool_call", kind: "read", locations: [{ path: file }] }),
    );
    editor.updates.length = 0;
    await prompt(editor, sessionId, '@sim exec shell {"command":"make test"} ;; say {{result}}');
    expect(editor.commands).toEqual(["/bin/sh -c make test"]);
    expect(editor.asked).toMatchObject([{ toolCall: { kind: "execute", title: "make test" } }]);
    expect(editor.text()).toContain("out of the terminal");
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ content: [{ type: "terminal", terminalId: "t1" }] }),
    );
  });

  it("writes with the user's leave, shown as a change, and not without it", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    const file = join(editor.folder, "new.txt");
    const script = `@sim call write_file {"path":${JSON.stringify(file)},"content":"new"} ;; say {{result}}`;
    editor.choice = "no";
    await prompt(editor, sessionId, script);
    expect(editor.text()).toContain("did not allow");
    expect(() => readFileSync(file)).toThrow();
    editor.choice = "always";
    await prompt(editor, sessionId, script);
    expect(readFileSync(file, "utf8")).toBe("new");
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ content: [{ type: "diff", path: file, oldText: null, newText: "new" }] }),
    );
    await prompt(editor, sessionId, script);
    expect(editor.asked).toHaveLength(2);
  });

  it("tells the model what went wrong", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    await prompt(editor, sessionId, '@sim call read_file {"path":"/no/such/file"} ;; say {{result}}');
    expect(editor.updates).toContainEqual(expect.objectContaining({ status: "failed" }));
    expect(editor.updates.at(-1)).toMatchObject({ sessionUpdate: "agent_message_chunk" });
  });

  it("stops when the user cancels, a command included", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    editor.onCommand = () => void editor.connection.agent.notify("session/cancel", { sessionId });
    const answer = prompt(editor, sessionId, '@sim call terminal {"command":"sleep 1000"} ;; say never');
    expect(await answer).toEqual({ stopReason: "cancelled" });
    editor.updates.length = 0;
    expect(await prompt(editor, sessionId, "@sim say back")).toEqual({ stopReason: "end_turn" });
    expect(editor.text()).toMatch(/back$/);
  });

  it("is cancelled at once, however long the editor takes to end a command, and gives the terminal back", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    editor.neverExits = true;
    editor.onCommand = () => void editor.connection.agent.notify("session/cancel", { sessionId });
    const answer = prompt(editor, sessionId, '@sim call terminal {"command":"sleep 1000"} ;; say never');
    expect(await answer).toEqual({ stopReason: "cancelled" });
    await expect.poll(() => editor.ended).toEqual(["kill t1", "release t1"]);
  });

  it("is cancelled at once where the editor answers nothing at all", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    editor.onRead = () => {
      void editor.connection.agent.notify("session/cancel", { sessionId });
      return new Promise<never>(() => {});
    };
    const answer = prompt(editor, sessionId, '@sim call write_file {"path":"a","content":"b"} ;; say never');
    expect(await answer).toEqual({ stopReason: "cancelled" });
  });

  it("lists a directory by the terminal, without what the terminal says of the command", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    editor.output = { output: "./\n../\nsrc/\nnotes.txt\n", exitCode: 0 };
    await prompt(editor, sessionId, '@sim exec ls {"path":"/w"} ;; say {{result}}');
    expect(editor.text()).toContain("notes.txt");
    expect(editor.text()).not.toContain("exit code");
    editor.output = { output: "no luck\n", exitCode: 3 };
    await prompt(editor, sessionId, '@sim call terminal {"command":"false"} ;; say {{result}}');
    expect(editor.text()).toContain("[exit code 3]");
  });

  it("edits a file with the user's leave, shown as a change, and says why it cannot", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    const file = join(editor.folder, "a.txt");
    writeFileSync(file, "one two $& two\n");
    const edit = async (args: object) => {
      editor.updates.length = 0;
      const call = JSON.stringify({ path: file, ...args });
      await prompt(editor, sessionId, `@sim call edit_file ${call} ;; say {{result}}`);
      return editor.text();
    };
    editor.choice = "no";
    expect(await edit({ old_text: "one", new_text: "1" })).toContain("did not allow");
    expect(readFileSync(file, "utf8")).toBe("one two $& two\n");
    editor.choice = "once";
    await edit({ old_text: "one", new_text: "$&" });
    expect(readFileSync(file, "utf8")).toBe("$& two $& two\n");
    expect(editor.updates).toContainEqual(
      expect.objectContaining({
        content: [{ type: "diff", path: file, oldText: "one two $& two\n", newText: "$& two $& two\n" }],
      }),
    );
    const asked = editor.asked.length;
    expect(await edit({ old_text: "two", new_text: "2" })).toContain("2 times");
    expect(await edit({ old_text: "three", new_text: "3" })).toContain("is not in the file");
    expect(await edit({ old_text: "", new_text: "3" })).toContain("old_text: expected");
    expect(await edit({ old_text: { toString: 1 }, new_text: "3" })).toContain("old_text: expected");
    expect(editor.asked).toHaveLength(asked);
    await edit({ old_text: "two", new_text: "2", replace_all: true });
    expect(readFileSync(file, "utf8")).toBe("$& 2 $& 2\n");
  });

  it("stops when the user cancels in place of an answer", async () => {
    const editor = await startEditor();
    const { sessionId } = await newSession(editor);
    editor.choice = "";
    editor.onAsk = () => void editor.connection.agent.notify("session/cancel", { sessionId });
    const answer = prompt(editor, sessionId, '@sim call terminal {"command":"true"} ;; say never');
    expect(await answer).toEqual({ stopReason: "cancelled" });
    expect(editor.commands).toEqual([]);
  });

  it("refuses what cannot be, and says why an answer failed", async () => {
    const editor = await startEditor();
    await expect(prompt(editor, "no-such-session", "hi")).rejects.toMatchObject({ code: -32_002 });
    await expect(
      editor.connection.agent.request("session/new", { cwd: "relative", mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32_602 });
    const { sessionId } = await newSession(editor);
    await expect(
      prompt(editor, sessionId, "@sim fail resource_exhausted ERROR_RATE_LIMITED slow"),
    ).rejects.toMatchObject({ code: -32_603 });
  });

  it("passes on what an agent behind it does and asks", async () => {
    const editor = await startEditor({ agents: { test: { command: process.execPath, args: [SCRIPTED_AGENT] } } });
    const { sessionId } = await newSession(editor);
    await editor.connection.agent.request("session/set_config_option", {
      sessionId,
      configId: "model",
      value: "acp:test",
    });
    editor.choice = "yes";
    await prompt(editor, sessionId, "plan Look ;;tool Read notes ;;permission edit");
    expect(editor.text()).toBe("yes");
    expect(editor.asked).toMatchObject([{ toolCall: { title: "May I edit?", kind: "edit" } }]);
    expect(editor.updates).toContainEqual(expect.objectContaining({ sessionUpdate: "plan" }));
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: "tool_call", title: "Read notes", kind: "read" }),
    );
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: "tool_call_update", status: "completed" }),
    );
  });

  it("uses MCP servers that the editor names, with the user's leave, for as long as the conversation", async () => {
    const editor = await startEditor();
    const remote = await startFakeServer();
    const variable = ["$", "{HOME}"].join("");
    const { sessionId } = await newSession(editor, [
      { name: "local", command: process.execPath, args: [SCRIPTED_SERVER], env: [{ name: "A", value: variable }] },
      { type: "http", name: "remote", url: remote.url, headers: [{ name: "authorization", value: "Bearer x" }] },
    ]);
    const environment = "@sim call local__environment {} ;; say {{result}}";
    editor.choice = "no";
    await prompt(editor, sessionId, environment);
    expect(editor.text()).toContain("did not allow");
    editor.choice = "always";
    await prompt(editor, sessionId, environment);
    // As it was said, and nothing else of ours.
    expect(editor.text()).toContain(`"A":"${variable}"`);
    expect(editor.text()).not.toContain("EXCURSOR_HOME");
    editor.updates.length = 0;
    await prompt(editor, sessionId, '@sim call remote__echo {"b":2} ;; say {{result}}');
    expect(editor.text()).toContain('{"b":2}');
    expect(remote.headers().authorization).toBe("Bearer x");
    expect(editor.asked.map(({ toolCall }) => toolCall.title)).toEqual([
      "local__environment",
      "local__environment",
      "remote__echo",
    ]);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({
        sessionUpdate: "tool_call_update",
        status: "completed",
        content: [{ type: "content", content: { type: "text", text: '{"b":2}' } }],
      }),
    );
    editor.updates.length = 0;
    await prompt(editor, sessionId, "@sim call local__remember {} ;; say {{result}}");
    const [pid = 0] = JSON.parse(/\[.*\]/.exec(editor.text())?.[0] ?? "[]");
    // Another conversation has none of them.
    const other = await newSession(editor);
    editor.updates.length = 0;
    await prompt(editor, other.sessionId, "@sim call local__remember {} ;; say {{result}}");
    expect(editor.text()).not.toContain(`[${pid}`);
    await editor.connection.agent.request("session/close", { sessionId });
    await untilGone(pid);
  });

  it("names what is wrong with a server, and works without one that does not start", async () => {
    const editor = await startEditor();
    const bad: McpServer[] = [{ type: "http", name: "far", url: "ftp://x", headers: [] }];
    await expect(newSession(editor, bad)).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("session: mcpServers.far.url: expected a URL"),
    });
    const gone = { name: "gone", command: "no-such-program", args: [], env: [] };
    const here = { name: "here", command: process.execPath, args: [SCRIPTED_SERVER], env: [] };
    await expect(newSession(editor, [here, here])).rejects.toMatchObject({ code: -32_602 });
    const { sessionId } = await newSession(editor, [gone, here]);
    await prompt(editor, sessionId, '@sim call here__echo {"a":1} ;; say {{result}}');
    expect(editor.text()).toContain('{"a":1}');
  });

  it("goes on with a conversation after a restart, on the backend's checkpoint", async () => {
    const sim = await startSim();
    cleanups.push(() => sim.close());
    const home = mkdtempSync(join(tmpdir(), "excursor-editor-"));
    const first = await startEditor({}, { upstream: sim.url, home });
    const { sessionId } = await newSession(first);
    await prompt(first, sessionId, "@sim say hello");
    await first.leave();

    const second = await startEditor({}, { upstream: sim.url, home });
    const { sessions } = await second.connection.agent.request("session/list", { cwd: home });
    expect(sessions).toMatchObject([{ sessionId, title: "@sim say hello" }]);
    await second.connection.agent.request("session/load", { sessionId, cwd: home, mcpServers: [] });
    expect(second.text()).toBe("hello");
    second.updates.length = 0;
    await prompt(second, sessionId, "@sim say {{reused}}");
    expect(second.text()).toBe("checkpoint");
  });

  it("says why it ends after a message that is too large", async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-editor-"));
    cleanups.push(() => rmSync(home, { recursive: true, force: true }));
    const { code, stderr } = await excursor(["acp", "--demo"], {
      environment: { EXCURSOR_HOME: home },
      input: `${"x".repeat(33 * 1024 * 1024)}\n`,
    }).exited;
    expect([code, stderr]).toEqual([1, expect.stringContaining("The connection to the editor was closed: ")]);
  });

  it.skipIf(spawnSync("which", ["script"]).status !== 0)("says on a terminal that it is for editors", async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-editor-"));
    cleanups.push(() => rmSync(home, { recursive: true, force: true }));
    const terminal = spawn("script", ["-qec", `'${process.execPath}' '${EXCURSOR}' acp --demo`, "/dev/null"], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, EXCURSOR_HOME: home },
    });
    let shown = "";
    for await (const chunk of terminal.stdout.setEncoding("utf8")) {
      shown += chunk;
      if (shown.includes("Ctrl-C")) break;
    }
    terminal.stdin.write("\u0003");
    terminal.kill();
    expect(shown).toContain("An editor should start this command");
    expect(shown).toContain('"agent_servers"');
  });

  it("ends with its stdin", async () => {
    const editor = await startEditor();
    cleanups.pop()?.();
    expect(await editor.exited).toBe(0);
  });
});
