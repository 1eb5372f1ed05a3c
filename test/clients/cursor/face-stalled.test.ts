import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SimOptions } from "../../../src/sim/options.ts";
import { type Stage, setUpGateway } from "../../gateway/support/gateway-process.ts";
import { type SdkMessage, SdkProcess, type SendSettings } from "../support/sdk-process.ts";

/** The client calls a stream stalled after 30 s without a message. */
const SHORT_MS = 12_000;
const LONG_MS = 36_000;

/** More than the buffers of a connection hold, so that some of it is still to come when the client goes on. */
const WORD_BYTES = 4 << 20;
const flood = (words: number) =>
  `@sim call large {"bytes":${WORD_BYTES}} ;; say begun ;; silent 9000 ;; say ${Array(words).fill("{{result}}").join(" ")} end`;
const QUIET = '@sim say begun ;; silent 9000 ;; say more ;; call look {"at":"x"} ;; say {{result}}';

interface Case {
  readonly script: string;
  readonly sim: Partial<SimOptions>;
  readonly retries: boolean;
  readonly options?: SendSettings;
  /** Begins when the client has the text `begun`. */
  readonly stall: (sdk: SdkProcess, stage: Stage) => Promise<void>;
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-stalled-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A backend of its own, and the client in front of it, with or without the face. */
async function setUp(sim: Partial<SimOptions>, hasFace: boolean) {
  const stage = await setUpGateway({ answerTimeoutMs: 120_000, ...sim });
  const gateway = hasFace ? await stage.start("--cursor-face", "--cursor-port", "0") : undefined;
  const url = gateway?.cursorUrl ?? stage.simUrl;
  return { stage, gateway, sdk: new SdkProcess({ url, home: makeFolder(), apiKey: "tester" }) };
}

async function send({ sdk, stage }: { sdk: SdkProcess; stage: Stage }, given: Omit<Case, "sim">) {
  await sdk.create("a", { local: { cwd: makeFolder(), enableAgentRetries: given.retries } });
  let stalling: Promise<void> | undefined;
  const onMessage = ({ type }: SdkMessage) => {
    if (type === "assistant") stalling ??= given.stall(sdk, stage);
  };
  const outcome = await sdk.send("a", given.script, onMessage, given.options);
  await stalling;
  return outcome;
}

/** True once the client has sent a heartbeat after the checkpoint of the text `begun`: it has read everything, and is idle. */
const isIdle = ({ trace }: Stage) => {
  const after = (kind: string, start: number) => trace.findIndex((entry, at) => at > start && entry.kind === kind);
  const checkpoint = after("conversation_checkpoint_update", after("text_delta", -1));
  return checkpoint !== -1 && after("client_heartbeat", checkpoint) !== -1;
};

/** What the user sees, and what the backend was asked for. */
async function outcomeOf({ sim, ...given }: Case, hasFace: boolean) {
  const { stage, sdk } = await setUp(sim, hasFace);
  await using _ = sdk;
  const { status, error, text, usage, messages } = await send({ sdk, stage }, given);
  // Not whether the backend saw the end of a run that the client gave up: the buffers of one more hop may hold it.
  const counted = ["open", "run_request", "exec_client_message"];
  await expect.poll(() => stage.simStats().openRuns).toBe(0);
  return {
    ...{ status, error, usage, text: text.replaceAll(/(?:[0-9a-f]{16})+/g, (word) => `(${word.length})`) },
    kinds: messages.map(({ type, name, status: state }) => [type, name, state]),
    backend: counted.map((kind) => [kind, stage.trace.filter((entry) => entry.kind === kind).length]),
  };
}

/** Stops the process of the client in a pause of the answer. */
const freezeFor = (ms: number) => async (sdk: SdkProcess, stage: Stage) => {
  await expect.poll(() => isIdle(stage), { timeout: 9000 }).toBe(true);
  sdk.freeze();
  await sleep(ms);
  sdk.thaw();
};

const compare = async (given: Case) => {
  const [direct, passed] = await Promise.all([outcomeOf(given, false), outcomeOf(given, true)]);
  expect(passed).toEqual(direct);
  return direct;
};

describe.each(["h2", "h1"] as const)("the official client over %s, with and without the face", (hostConfig) => {
  const sim = { hostConfig };
  const words = `begun${"(4194304) ".repeat(3)}end`;

  it("goes on if it was frozen for less than its stall limit", async () => {
    const stall = freezeFor(SHORT_MS);
    const [quiet, flooded] = await Promise.all([
      compare({ script: QUIET, sim, retries: false, stall }),
      compare({ script: flood(3), sim, retries: false, stall }),
    ]);
    expect([quiet.status, quiet.text]).toEqual(["finished", 'begunmorelooked at {"at":"x"}']);
    expect([flooded.status, flooded.text]).toEqual(["finished", words]);
  });

  it("ends or retries the run in the same way if it was frozen for longer", { timeout: 360_000 }, async () => {
    const stall = freezeFor(LONG_MS);
    const [failed, retried] = await Promise.all([
      compare({ script: QUIET, sim, retries: false, stall }),
      compare({ script: flood(3), sim, retries: true, stall }),
    ]);
    // The client looks at its clock before it reads what has come meanwhile.
    expect([failed.status, failed.error, failed.text]).toEqual(["error", "Connection stalled", "begun"]);
    expect([retried.status, retried.text]).toEqual(["finished", words]);
    expect(retried.backend).toContainEqual(["open", 2]);
  });

  it("gets everything if its caller does not read the stream for a while", async () => {
    const stall = async (sdk: SdkProcess, { trace }: Stage) => {
      await expect.poll(() => trace.some(({ kind }) => kind === "end"), { timeout: 30_000 }).toBe(true);
      await sdk.readOn("a");
    };
    const sim = { hostConfig };
    const { status, text } = await compare({
      script: flood(3),
      sim,
      retries: false,
      options: { holdAt: "assistant" },
      stall,
    });
    expect([status, text]).toEqual(["finished", words]);
  });

  it("holds the backend back while it is frozen, so that the face stores little (REL-04)", async () => {
    const { stage, gateway, sdk } = await setUp(sim, true);
    const memory = () =>
      Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${gateway?.pid}/status`, "utf8"))?.[1]) * 1024;
    const sentBytes = () => stage.trace.filter(({ kind }) => kind === "text_delta").length * WORD_BYTES;
    const done = Promise.withResolvers<number>();
    const stall = async () => {
      await expect.poll(() => isIdle(stage), { timeout: 9000 }).toBe(true);
      sdk.freeze();
      const before = memory();
      await expect.poll(() => sentBytes(), { timeout: 20_000 }).toBeGreaterThan(WORD_BYTES);
      // Nothing moves any more: two looks, some time apart, see the same.
      let last = -1;
      while (sentBytes() !== last) {
        last = sentBytes();
        await sleep(3000);
      }
      done.resolve(memory() - before);
    };
    void send({ sdk, stage }, { script: flood(40), retries: false, stall }).catch(() => {});
    const grown = await done.promise;
    await sdk.kill();
    expect(sentBytes()).toBeLessThan(64 << 20);
    expect(grown).toBeLessThan(96 << 20);
    await expect.poll(() => stage.simStats().openRuns, { timeout: 10_000 }).toBe(0);
  });
});
