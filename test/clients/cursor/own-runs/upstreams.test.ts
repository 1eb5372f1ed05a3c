import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Answer,
  errorBody,
  signatureOf,
  startAnthropicServer,
} from "../../../drivers/support/anthropic-server.ts";
import { replyJson } from "../../../drivers/support/api-server.ts";
import { KEY, setUpGateway } from "../../../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../../../gateway/support/own-gateway.ts";
import { installed, setUpAgentBridge } from "../../support/agent-bridge.ts";
import { type SdkMessage, SdkProcess } from "../../support/sdk-process.ts";
import { makeFolder, TRANSPORTS, type Transport } from "./support/stage.ts";

/** The account that is signed in at the gateway, and at its client. */
const ACCOUNT = "tester";

/** A gateway with a listener for Cursor's clients, and the official client there. */
async function setUp(hostConfig: Transport, settings: (modelUrl: string) => object) {
  const { start, simUrl } = await setUpGateway({ hostConfig });
  const model = await start();
  const face = { upstream: simUrl, token: ACCOUNT, cursorFace: true, cursorPort: 0 };
  const { cursorUrl = "" } = await openOwnGateway({ ...face, ...settings(model.url) });
  const sdk = new SdkProcess({ url: cursorUrl, home: makeFolder(), apiKey: ACCOUNT });
  const cwd = makeFolder();
  return { sdk, cwd, local: { cwd, enableAgentRetries: false } };
}

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const IMAGES = [{ data: PNG.toString("base64"), mimeType: "image/png" }];

/** Cancels the run of the agent `a` once its model has said something. */
const cancelWhenBegun =
  (sdk: SdkProcess) =>
  ({ type }: SdkMessage) => {
    if (type === "assistant") void sdk.cancel("a");
  };

const LONG = "@sim say begun ;; silent 600000 ;; say never";

describe.each(TRANSPORTS)("the official client over %s, with a model behind Anthropic's API", (hostConfig) => {
  const tool = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input }) as const;
  const thought = (text: string) => ({ type: "thinking", text }) as const;
  const text = (said: string) => ({ type: "text", text: said }) as const;

  it.each(["claude-sonnet-5", "claude-older"])("brings thinking back as it was, to %s", async (model) => {
    const answers: Answer[] = [
      {
        blocks: [
          thought("First I look.\nThen I write."),
          { type: "redacted_thinking", data: "c2VjcmV0" },
          tool("toolu_1", "read", { path: "a.txt" }),
          tool("toolu_2", "shell", { command: "echo from the shell" }),
        ],
      },
      {
        blocks: [thought("Now the edit."), tool("toolu_3", "edit", { path: "a.txt", old_text: "one", new_text: "1" })],
      },
      { blocks: [thought("That is all."), text("All done.")] },
      { blocks: [text("Still here.")] },
    ];
    const upstream = await startAnthropicServer(...answers);
    const {
      sdk: client,
      cwd,
      local,
    } = await setUp(hostConfig, () => ({
      anthropic: { key: "k", baseURL: upstream.url },
      models: { "claude-*": { driver: "anthropic", effort: "high" } },
    }));
    await using sdk = client;
    writeFileSync(join(cwd, "a.txt"), "one\ntwo\n");
    await sdk.create("a", { model: { id: `excursor/${model}` }, local });
    const first = await sdk.send("a", "go");
    expect([first.status, first.text, first.error]).toEqual(["finished", "All done.", undefined]);
    expect(first.thinking).toBe("First I look.\nThen I write.Now the edit.That is all.");
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("1\ntwo\n");
    expect(first.usage).toMatchObject({ outputTokens: 3 * 89, cacheReadTokens: 3 * 40 });
    const second = await sdk.send("a", "and again");
    expect([second.status, second.text, second.error]).toEqual(["finished", "Still here.", undefined]);

    const asked = upstream.calls.filter(({ path }) => path.includes("messages"));
    expect(asked).toHaveLength(4);
    const kept = asked.at(-1)?.body.messages as { role: string; content: { type: string }[] }[];
    expect(kept.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(kept[1]?.content).toMatchObject([
      {
        type: "thinking",
        thinking: "First I look.\nThen I write.",
        signature: signatureOf("First I look.\nThen I write."),
      },
      { type: "redacted_thinking", data: "c2VjcmV0" },
      { type: "tool_use", name: "read", input: { path: "a.txt" } },
      { type: "tool_use", name: "shell" },
    ]);
    expect(JSON.stringify(kept[2])).toContain("from the shell");
  });

  it("brings images, and ends a request that the user cancels", async () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    const upstream = await startAnthropicServer({ blocks: [text("A dot.")] }, (_call, response) => {
      response.once("close", () => resolve());
      response.writeHead(200, { "content-type": "text/event-stream" });
      const message = { id: "msg_1", type: "message", role: "assistant", content: [], model: "claude-sonnet-5" };
      const events = [
        { type: "message_start", message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "begun" } },
      ];
      for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    });
    const { sdk: client, local } = await setUp(hostConfig, () => ({
      anthropic: { key: "k", baseURL: upstream.url },
      models: { "claude-*": "anthropic" },
    }));
    await using sdk = client;
    await sdk.create("a", { model: { id: "excursor/claude-sonnet-5" }, local });
    const seen = await sdk.send("a", { text: "what is this?", images: IMAGES });
    expect([seen.status, seen.text, seen.error]).toEqual(["finished", "A dot.", undefined]);
    const asked = upstream.calls.filter(({ path }) => path.includes("messages"));
    const source = { type: "base64", media_type: "image/png", data: PNG.toString("base64") };
    expect(JSON.stringify(asked[0]?.body.messages)).toContain(JSON.stringify(source));
    expect((await sdk.send("a", "go on", cancelWhenBegun(sdk))).status).toBe("cancelled");
    await cancelled;
  });

  it("goes on in a conversation of the account's, and shows the upstream's errors", async () => {
    const upstream = await startAnthropicServer({ blocks: [text("Mine.")] }, (_call, response) =>
      replyJson(response, 400, errorBody("invalid_request_error", "Your credit balance is too low")),
    );
    const { sdk: client, local } = await setUp(hostConfig, () => ({
      anthropic: { key: "k", baseURL: upstream.url },
      models: { "claude-*": "anthropic" },
    }));
    await using sdk = client;
    await sdk.create("a", { model: { id: "composer-2.5" }, local });
    const script =
      '@sim think hm ;; say one ;; call look {"at":"x"} ;; call look {"at":"y"} ;; exec read {"path":"none"} ;; say two';
    expect(await sdk.send("a", script)).toMatchObject({ status: "finished" });
    const own = { model: { id: "excursor/claude-sonnet-5" } };
    const mine = await sdk.send("a", "and you?", undefined, own);
    expect([mine.status, mine.text, mine.error]).toEqual(["finished", "Mine.", undefined]);
    const failed = await sdk.send("a", "once more", undefined, own);
    expect(failed.status).toBe("error");
    expect(failed.error).toContain("Your credit balance is too low");
  });
});

describe.each(TRANSPORTS)("the official client over %s, with a second gateway as its model", (hostConfig) => {
  it("does what a script of the simulator says", async () => {
    const {
      sdk: client,
      cwd,
      local,
    } = await setUp(hostConfig, (url) => ({
      openai: { key: KEY, baseURL: `${url}/v1` },
      models: { "demo/*": "openai" },
    }));
    await using sdk = client;
    writeFileSync(join(cwd, "crlf.txt"), "\uFEFFone\r\ntwo\r\n");
    await sdk.create("a", { model: { id: "excursor/demo/composer-2.5" }, local });
    const run = async (script: string) => {
      const { status, text, error } = await sdk.send("a", `@sim ${script}`);
      expect([status, error]).toEqual(["finished", undefined]);
      return text;
    };
    const edit = { path: "crlf.txt", old_text: "one\ntwo", new_text: "one\n2" };
    expect(await run(`call edit ${JSON.stringify(edit)} ;; say {{result}}`)).toContain("+2");
    expect(readFileSync(join(cwd, "crlf.txt"), "utf8")).toBe("\uFEFFone\r\n2\r\n");
    expect(await run('call shell {"command":"cat crlf.txt | wc -l"} ;; say {{result}}')).toContain("2");
    expect(await run('call grep {"pattern":"one"} ;; say {{result}}')).toContain("crlf.txt");
    const two = 'call look {"at":"x"} ;; call slow {"ms":1,"text":"y"} ;; say {{result.0}} {{result.1}}';
    expect(await run(two)).toBe('looked at {"at":"x"} y');
    expect((await sdk.send("a", "@sim think let me see ;; say ok")).thinking).toBe("let me see");
    expect(await run("say {{history}}")).toContain("let me see");
    const seen = await sdk.send("a", { text: "@sim say {{images}}", images: IMAGES });
    expect([seen.text, seen.error]).toEqual([`1 image/png:${PNG.length}`, undefined]);
    expect((await sdk.send("a", LONG, cancelWhenBegun(sdk))).status).toBe("cancelled");
    expect(await run("say still here")).toBe("still here");
  });
});

describe.each(TRANSPORTS)("the official client over %s, with an agent as its model", (hostConfig) => {
  it("shows the tools that Claude Code runs itself", async () => {
    const { cursorUrl, desk } = await setUpAgentBridge(
      (url, { home }) => ({
        command: process.execPath,
        args: [installed("claude-agent-acp")],
        allow: ["*"],
        env: {
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: KEY,
          ANTHROPIC_MODEL: "claude-sonnet-5",
          ANTHROPIC_DEFAULT_HAIKU_MODEL: "gpt-5.4-mini",
          CLAUDE_CONFIG_DIR: join(home, "claude"),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
        },
      }),
      { hostConfig },
    );
    await using sdk = new SdkProcess({ url: cursorUrl, home: makeFolder(), apiKey: ACCOUNT });
    const cwd = makeFolder();
    await sdk.create("a", { model: { id: "excursor/acp:tried" }, local: { cwd, enableAgentRetries: false } });
    const file = join(desk.folder, "made.txt");
    const write = `call Write ${JSON.stringify({ file_path: file, content: "made" })}`;
    const { status, text, error, messages } = await sdk.send("a", `@sim need Write ;; ${write} ;; say allowed`);
    expect([status, error]).toEqual(["finished", undefined]);
    expect(text).toContain("allowed");
    expect(readFileSync(file, "utf8")).toBe("made");
    const calls = messages.filter(({ type }) => type === "tool_call");
    expect(calls.map(({ name, status: state }) => [name, state])).toEqual(
      expect.arrayContaining([
        ["mcp", "running"],
        ["mcp", "completed"],
      ]),
    );
    expect(existsSync(join(cwd, "made.txt"))).toBe(false);
    expect((await sdk.send("a", "@sim say {{history}}")).text).toContain("allowed");
    expect((await sdk.send("a", LONG, cancelWhenBegun(sdk))).status).toBe("cancelled");
    expect((await sdk.send("a", "@sim say still here")).text).toContain("still here");
  });
});
