import { expect, it } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { createAccountStore } from "../../../src/credentials/account-store.ts";
import { issueTokens } from "../../../src/sim/accounts.ts";
import { setUpGateway } from "../support/gateway-process.ts";

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly path?: string;
  readonly kind?: string;
  readonly dir?: string;
}

/** The log of one question at a level. */
async function logAt(level: string, transport: "h1" | "h2") {
  const { open } = await setUpGateway({ hostConfig: transport });
  const { client, log, stop } = await open("--log-level", level);
  const messages = [{ role: "user" as const, content: "@sim think Geheimnis ;; say Verschwiegenes" }];
  await client.chat.completions.create({ model: "auto", messages });
  await stop();
  const lines = log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  return {
    text: log(),
    calls: lines.filter(({ msg }) => msg === "upstream call"),
    frames: lines.filter(({ msg }) => msg === "frame"),
    phases: lines.filter(({ msg }) => msg === "run phases"),
  };
}

it.each(["h1", "h2"] as const)(
  "trace: each call and each frame by kind and size, and no content, over %s",
  async (transport) => {
    const { text, calls, frames } = await logAt("trace", transport);
    const path = transport === "h2" ? "/agent.v1.AgentService/Run" : "/agent.v1.AgentService/RunSSE";
    expect(calls).toContainEqual(
      expect.objectContaining({
        level: "debug",
        method: "POST",
        host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        path,
        transport,
        status: 200,
        ms: expect.any(Number),
        sentBytes: expect.any(Number),
        receivedBytes: expect.any(Number),
      }),
    );
    const kinds = (dir: string) => frames.flatMap((frame) => (frame.dir === dir ? [frame.kind] : []));
    expect(kinds("out")).toEqual(expect.arrayContaining(["run_request", "exec_client_message.request_context_result"]));
    expect(kinds("in")).toEqual(
      expect.arrayContaining([
        "interaction_update.text_delta",
        "interaction_update.thinking_delta",
        "kv_server_message.set_blob_args",
      ]),
    );
    expect(frames[0]).toMatchObject({
      level: "trace",
      id: expect.stringMatching(/^h[12]-\d+$/),
      bytes: expect.any(Number),
    });
    expect(text).not.toMatch(/Geheimnis|Verschwiegenes|tester/);
  },
);

it("debug: calls and phases, no frames; info: none of them", async () => {
  const debug = await logAt("debug", "h2");
  expect(debug.calls.map(({ path }) => path)).toContain("/agent.v1.AgentService/GetUsableModels");
  expect(debug.frames).toEqual([]);
  const phases = ["planned", "opened", "first-event", "ended"].map((phase) => [phase, expect.any(Number)]);
  expect(debug.phases).toMatchObject([
    { level: "debug", requestId: expect.any(String), ...Object.fromEntries(phases) },
  ]);
  const info = await logAt("info", "h2");
  expect([...info.calls, ...info.frames, ...info.phases]).toEqual([]);
});

it("debug: renewing an account's token is a call, too, and no token is in the log", async () => {
  const { start, home, simUrl } = await setUpGateway({}, { EXCURSOR_KEYCHAIN: "off" });
  const { accessToken, refreshToken } = issueTokens("auth0|user_x", -10);
  const store = createAccountStore({ home, keychain: undefined, onNotice: () => {} });
  const login = { access: new Secret(accessToken), refresh: new Secret(refreshToken), apiKey: undefined };
  await store.lock.run(() => store.write({ name: "default", origin: simUrl, login }));
  const { client, log, stop } = await start("--log-level", "debug", "--account", "default");
  await client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "@sim say hello" }] });
  await stop();
  expect(log()).toMatch(/"id":"account-1",.*"path":"\/auth\/exchange_user_api_key",.*"status":200/);
  expect(log()).not.toMatch(/eyJ|Bearer/);
});
