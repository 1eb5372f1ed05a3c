import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { createServeRun } from "../../../src/faces/cursor/run/serve-run.ts";
import type { RunPeer, ServeRun } from "../../../src/faces/cursor/run-peer.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { CALLS, call, engineWith, STOP, say } from "../../faces/cursor/support/models.ts";
import { KEY, SIGNED_IN, setUpFace, setUpSim } from "../../faces/cursor/support/stage.ts";
import { type AgentSettings, type RunOutcome, SdkProcess } from "../support/sdk-process.ts";

const folders: string[] = [];

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-face-"));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const startSdk = (url: string, apiKey: string = SIGNED_IN) => new SdkProcess({ url, home: makeFolder(), apiKey });

async function ask(sdk: SdkProcess, prompt: string, options: AgentSettings = {}): Promise<RunOutcome> {
  const local = { cwd: makeFolder(), enableAgentRetries: false };
  await sdk.create(prompt, { local, ...options });
  return sdk.send(prompt, prompt);
}

/** What a user of the client sees, without ids and times. */
const seen = ({ status, error, usage, text, thinking, messages }: RunOutcome) => ({
  ...{ status, error, usage, text, thinking },
  kinds: messages.map(({ type, name, status: state }) => [type, name, state]),
});

describe.each(["h2", "h1"] as const)("the official client on the face, over %s", (hostConfig) => {
  it("sees the same with a model of the account as without the face", async () => {
    const { url, sim, trace } = await setUpSim({}, { hostConfig });
    await using direct = startSdk(sim.url);
    await using passed = startSdk(url);
    for (const script of [
      "@sim think let me see ;; say hello wide world",
      '@sim call look {"at":"x"} ;; say {{result}}',
      "@sim tokens 500 0",
      "@sim say first ;; fail resource_exhausted ERROR_RATE_LIMITED title=Slow",
    ]) {
      expect(seen(await ask(passed, script))).toEqual(seen(await ask(direct, script)));
    }
    expect(new Set(trace.filter(({ kind }) => kind === "open").map(({ transport }) => transport))).toEqual(
      new Set([hostConfig]),
    );
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    expect(sim.stats().unknownCalls).toBe(0);
  });

  it("lists our models and runs them", async () => {
    const { url, trace } = await setUpSim({ serveRun: sayName }, { hostConfig });
    await using sdk = startSdk(url);
    expect(await sdk.models()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: "composer-2.5" }),
        expect.objectContaining({ id: "excursor/local", displayName: "Local" }),
      ]),
    );
    const { status, text, error } = await ask(sdk, "hello", { model: { id: "excursor/local" } });
    expect([status, text, error]).toEqual(["finished", "local for owner", undefined]);
    expect(trace.filter(({ kind }) => kind === "open")).toEqual([]);
  });

  it("shows our errors with title and detail", async () => {
    const serveRun: ServeRun = (peer) =>
      peer.end(new ExcursorError("forbidden", "This is the title.", { hint: "This is the detail." }));
    const { url } = await setUpSim({ serveRun }, { hostConfig });
    await using sdk = startSdk(url);
    const { status, error } = await ask(sdk, "hello", { model: { id: "excursor/local" } });
    expect([status, error]).toEqual(["error", "This is the title. This is the detail."]);
  });
});

it("runs our models with a key of the gateway, without any backend", async () => {
  const { url } = await setUpFace("http://127.0.0.1:9", { serveRun: sayName });
  await using sdk = startSdk(url, KEY);
  const { status, text } = await ask(sdk, "hello", { model: { id: "excursor/local" } });
  expect([status, text]).toEqual(["finished", "local for owner"]);
});

it("lets our models use the client's own tools with a key of the gateway, without any backend", async () => {
  const answers = [
    [call("c1", "shell", { command: "echo made > made.txt" }), CALLS],
    [say("done"), STOP],
  ];
  const { engine, turns } = engineWith((_turn, nth) => answers[nth] ?? [STOP]);
  const serve = createServeRun({ engine });
  const { url } = await setUpFace("http://127.0.0.1:9", { serveRun: (peer) => serve(peer, "m") });
  await using sdk = startSdk(url, KEY);
  const cwd = makeFolder();
  const { status, text } = await ask(sdk, "make it", { model: { id: "excursor/local" }, local: { cwd } });
  expect([status, text]).toEqual(["finished", "done"]);
  expect(readFileSync(join(cwd, "made.txt"), "utf8")).toBe("made\n");
  expect(turns).toHaveLength(2);
});

/** Answers each run with the name of the model. */
const sayName: ServeRun = (peer, model) => {
  peer.listen({
    message(payload) {
      if (fromBinary(AgentClientMessageSchema, payload).message.case !== "runRequest") return;
      send(peer, { case: "textDelta", value: { text: `${model} for ${peer.principal.id}` } });
      send(peer, { case: "turnEnded", value: {} });
      peer.end();
    },
    gone() {},
  });
};

function send(peer: RunPeer, message: object): void {
  const update = { message: { case: "interactionUpdate", value: { message } } };
  void peer.send(toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, update as never)));
}
