import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../../src/capture/recorder.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { type Turn, textOf } from "../../../src/core/turn.ts";
import { startSim } from "../../../src/sim/server.ts";
import { harProblems } from "../../capture/support/har-problems.ts";
import { excursor } from "../../cli/support/excursor.ts";
import { CALLS, call, STOP, say } from "../../faces/cursor/support/models.ts";
import { SIGNED_IN } from "../../faces/cursor/support/stage.ts";
import { SdkProcess } from "../support/sdk-process.ts";
import { SCENARIOS, type Scene, seen } from "../support/sdk-scenarios.ts";
import { OWN, setUpOwnRuns, TRANSPORTS, type Transport } from "./own-runs/support/stage.ts";

/** All scenarios, twice. */
const SLOW_MS = 900_000;

/** Runs something at the client, and gives what a user of it sees. */
type Act = (scene: Omit<Scene, "page">) => Promise<unknown>;

function makeFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A server for the client, and how to stop it. */
interface Stage {
  readonly url: string;
  /** Returns what it wrote to stderr. */
  stop(): Promise<string>;
}

async function start(...args: string[]): Promise<Stage> {
  const program = excursor(args, { environment: { EXCURSOR_HOME: makeFolder("excursor-home-") } });
  const [, url = ""] = / (http\S+)/.exec(await program.firstLine()) ?? [];
  return {
    url,
    async stop() {
      program.child.kill("SIGINT");
      const { code, stderr } = await program.exited;
      expect(code).toBe(0);
      return stderr;
    },
  };
}

/** Captures what the official client does, then plays the capture to the same client. */
async function recordAndPlay(startCapture: (file: string) => Promise<Stage>, act: Act, apiKey = "tester") {
  // Its path must not begin like that of Excursor's home folder, which is masked in captures.
  const folder = makeFolder("cassette-");
  const file = join(folder, "a.capture");

  const actAt = async ({ url, stop }: Stage) => {
    // The same folders, empty again: what the client sends names them.
    const [home, cwd] = [join(folder, "home"), join(folder, "cwd")];
    for (const name of [home, cwd]) {
      rmSync(name, { recursive: true, force: true });
      mkdirSync(name);
    }
    await using sdk = new SdkProcess({ url, home, apiKey });
    const result = await act({ url, home, cwd, sdk });
    // The client warns of a slow machine.
    expect(sdk.stderr.replace(/^.* WARN .*: slow .*\n/gm, "")).toBe("");
    return { result, stderr: await stop() };
  };

  const { result: recorded } = await actAt(await startCapture(file));
  const { result: played, stderr } = await actAt(await start("sim", "--port", "0", "--cassette", file));
  return { recorded, played, leaves: stderr.match(/The client left the cassette.*/g) ?? [], file, folder };
}

describe.each(TRANSPORTS)("everything that the official client does over %s", (hostConfig) => {
  it(
    "plays the same from its capture, which can be inspected and exported",
    async () => {
      const server = createServer((_, response) => response.end("a page"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const sim = await startSim({ hostConfig });
      onTestFinished(() => sim.close());

      const { recorded, played, leaves, file, folder } = await recordAndPlay(
        (out) => start("capture", "--out", out, "--upstream", sim.url, "--listen"),
        async (scene) => {
          const results: Record<string, unknown> = {};
          for (const [name, scenario] of Object.entries(SCENARIOS)) results[name] = await scenario({ ...scene, page });
          return results;
        },
      );
      expect(played).toEqual(recorded);
      expect(leaves).toEqual([]);

      const inspect = async (...args: string[]) => (await excursor(["inspect", file, ...args]).exited).stdout;
      const calls = JSON.parse(await inspect("--json")) as { path: string; transport: string }[];
      const runs = calls.filter(({ path }) => /AgentService\/Run(?:SSE)?$/.test(path));
      expect(new Set(runs.map(({ transport }) => transport))).toEqual(new Set([hostConfig]));
      expect(runs.length).toBeGreaterThan(Object.keys(SCENARIOS).length);
      const har = join(folder, "a.har");
      await inspect("--har", har);
      const content = JSON.parse(readFileSync(har, "utf8"));
      expect(harProblems(content)).toEqual([]);
      expect(content.log.entries).toHaveLength(calls.length);
    },
    SLOW_MS,
  );
});

/** Answers by the first message of the conversation: native tools, tools of the program, or what the user showed. */
function answer({ messages }: Turn): readonly TurnEvent[] {
  const asked = textOf(messages[0]?.content ?? []);
  const round = messages.filter(({ role }) => role === "assistant").length;
  const rounds = asked === "native" ? NATIVE : asked === "custom" ? CUSTOM : [];
  const images = messages.flatMap(({ content }) => content.filter(({ type }) => type === "image")).length;
  return rounds[round] ?? [say(`Done, with ${images} images and ${messages.length} messages.`), STOP];
}

const NATIVE: readonly (readonly TurnEvent[])[] = [
  [
    { type: "thinking", text: "hm" },
    { type: "thinking-done", durationMs: 3, signature: "sig" },
    say("Working. "),
    call("c1", "edit", { path: "crlf.txt", old_text: "one\ntwo", new_text: "one\n2" }),
    call("c2", "write", { path: "sub/new.txt", content: "new\n" }),
    call("c3", "shell", { command: "echo hi > made.txt && echo made" }),
    CALLS,
  ],
  [
    call("c4", "read", { path: "sub/new.txt" }),
    call("c5", "grep", { pattern: "three" }),
    call("c6", "glob", { pattern: "**/*.txt" }),
    call("c7", "todo", { todos: [{ id: "1", content: "Look", status: "pending" }] }),
    CALLS,
  ],
  [call("c8", "delete", { path: "made.txt" }), call("c9", "read", { path: "none.txt" }), CALLS],
];
const CUSTOM: readonly (readonly TurnEvent[])[] = [
  [call("c1", "slow", { ms: 300, text: "one" }), call("c2", "slow", { ms: 1, text: "two" }), CALLS],
  [call("c3", "boom", {}), call("c4", "launch", {}), CALLS],
];

/** Starts a face that records, with a model of ours. */
async function startFace(hostConfig: Transport, file: string): Promise<Stage> {
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e8, onEnd: () => {} }));
  const { url } = await setUpOwnRuns(hostConfig, answer, { face: { recorder } });
  return {
    url,
    async stop() {
      recorder.close();
      return "";
    },
  };
}

describe.each(TRANSPORTS)("runs of our own models over %s", (hostConfig) => {
  it(
    "play the same to the official client from a capture of the face",
    async () => {
      const { recorded, played, leaves } = await recordAndPlay(
        (file) => startFace(hostConfig, file),
        async ({ sdk, cwd }) => {
          writeFileSync(join(cwd, "crlf.txt"), "\uFEFFone\r\ntwo\r\nthree\r\n");
          const results: unknown[] = [];
          for (const name of ["native", "custom", "image"]) {
            await sdk.create(name, { model: OWN, local: { cwd, enableAgentRetries: false } });
            const images = name === "image" ? [{ data: PIXEL, mimeType: "image/png" }] : [];
            results.push(seen(await sdk.send(name, { text: name, images })), seen(await sdk.send(name, "and again")));
          }
          return [
            ...results,
            readFileSync(join(cwd, "crlf.txt"), "utf8"),
            readFileSync(join(cwd, "sub/new.txt"), "utf8"),
          ];
        },
        SIGNED_IN,
      );
      expect(played).toEqual(recorded);
      expect(leaves).toEqual([]);
      expect(JSON.stringify(recorded)).toContain("Done, with 1 images and 3 messages.");
    },
    SLOW_MS,
  );
});

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
