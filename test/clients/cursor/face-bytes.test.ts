import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { ConversationStepSchema } from "../../../src/gen/agent/v1/tool_call_pb.ts";
import { BidiAppendRequestSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { FrameDecoder } from "../../../src/wire/connect/envelope.ts";
import { startTap, type TappedCall } from "../../faces/cursor/support/byte-tap.ts";
import { setUpFace, setUpSim } from "../../faces/cursor/support/stage.ts";
import { type RunOutcome, SdkProcess } from "../support/sdk-process.ts";

const folders: string[] = [];

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-bytes-"));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Two turns of one agent, so that the second sends back the state of the first. */
const TURNS = [
  '@sim think let me see ;; call look {"at":"x"} ;; exec read {"path":"a.txt"} ;; say {{result}}',
  "@sim tokens 300 0 ;; say {{turns}} {{reused}}",
];

interface Place {
  readonly home: string;
  readonly cwd: string;
}

async function converse(url: string, { home, cwd }: Place): Promise<RunOutcome[]> {
  await using sdk = new SdkProcess({ url, home, apiKey: "signed-in" });
  await sdk.create("a", { local: { cwd, enableAgentRetries: false } });
  const outcomes: RunOutcome[] = [];
  for (const turn of TURNS) outcomes.push(await sdk.send("a", turn));
  return outcomes;
}

/** The frames of one run, flags before payload. */
interface RunFrames {
  readonly sent: readonly Buffer[];
  readonly received: readonly Buffer[];
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  new FrameDecoder({ maxFrameBytes: 1 << 26 }).push(bytes, (flags, payload) =>
    frames.push(Buffer.concat([Buffer.of(flags), payload])),
  );
  return frames;
}

/** The runs among the calls. Over HTTP/1.1 appends may overtake each other, so their numbers give the order. */
function runsOf(calls: readonly TappedCall[]): RunFrames[] {
  const appends = calls
    .filter(({ target }) => target.endsWith("/BidiAppend"))
    .map(({ sent }) => fromBinary(BidiAppendRequestSchema, sent))
    .sort((a, b) => Number(a.appendSeqno - b.appendSeqno));
  return calls.flatMap(({ version, target, sent, received }) => {
    // Other calls over HTTP/2 are unary, and get nothing or what is no frame.
    if (version === "h2") return received[0] === 0 ? { sent: framesOf(sent), received: framesOf(received) } : [];
    if (!target.endsWith("/RunSSE")) return [];
    const id = sent.toString("latin1").match(UUID)?.[0];
    const own = appends.filter(({ requestId }) => requestId?.requestId === id);
    const messages = own.map(({ data }) => Buffer.concat([Buffer.of(0), Buffer.from(data, "hex")]));
    return { sent: messages, received: framesOf(received) };
  });
}

/** A blob, without the duration if it holds a thought. */
function withoutDuration(blob: Uint8Array): Uint8Array {
  try {
    const step = fromBinary(ConversationStepSchema, blob);
    if (step.message.case !== "thinkingMessage") return blob;
    step.message.value.durationMs = 0;
    return toBinary(ConversationStepSchema, step);
  } catch {
    return blob;
  }
}

/** Without what each client and backend makes anew: random ids, digests of what contains them, and measured times. */
function comparable(runs: readonly RunFrames[]): object[] {
  const blobs: string[] = [];
  const plain = (bytes: Uint8Array): string => {
    let text = Buffer.from(bytes)
      .toString("latin1")
      .replaceAll(UUID, "(id)")
      .replaceAll(/[0-9a-f]{64}/g, "(digest)");
    for (const [index, id] of blobs.entries()) text = text.replaceAll(id, `(blob ${index})`);
    return text;
  };
  const fromServer = (frame: Buffer): string | undefined => {
    if (frame[0] !== 0) return plain(frame);
    const decoded = fromBinary(AgentServerMessageSchema, frame.subarray(1));
    const { message } = decoded;
    if (message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs") {
      const blob = message.value.message.value;
      blobs.push(Buffer.from(blob.blobId).toString("latin1"));
      blob.blobData = withoutDuration(blob.blobData);
      return plain(toBinary(AgentServerMessageSchema, decoded));
    }
    const update = message.case === "interactionUpdate" ? message.value.message : undefined;
    if (update?.case === "heartbeat") return undefined;
    if (update?.case === "thinkingCompleted") update.value.thinkingDurationMs = 0;
    else if (update?.case === "stepCompleted") update.value.stepDurationMs = 0n;
    else return plain(frame);
    return plain(toBinary(AgentServerMessageSchema, decoded));
  };
  const fromClient = (frame: Buffer): string | undefined => {
    const decoded = fromBinary(AgentClientMessageSchema, frame.subarray(1));
    const { message } = decoded;
    if (message.case === "clientHeartbeat") return undefined;
    if (message.case === "execClientControlMessage" && message.value.message.case === "heartbeat") return undefined;
    const reply = message.case === "kvClientMessage" ? message.value.message : undefined;
    // The client drops its last confirmations if the end of the answer overtakes them.
    if (reply?.case === "setBlobResult") return undefined;
    if (reply?.case === "getBlobResult" && reply.value.blobData) {
      reply.value.blobData = withoutDuration(reply.value.blobData);
    } else if (message.case === "execClientMessage") message.value.localExecutionTimeMs = 0;
    else return plain(frame);
    return plain(toBinary(AgentClientMessageSchema, decoded));
  };
  return runs.map(({ sent, received }) => ({
    received: received.map(fromServer).filter((frame) => frame !== undefined),
    sent: sent.map(fromClient).filter((frame) => frame !== undefined),
  }));
}

const seen = ({ status, error, usage, text, thinking, messages }: RunOutcome) => ({
  ...{ status, error, usage, text, thinking },
  kinds: messages.map(({ type, name, status: state }) => [type, name, state]),
});

/** What the face asks for itself: which hosts a login has, and whose login it is. */
const OWN_QUESTIONS = [
  "POST /aiserver.v1.ServerConfigService/GetServerConfig",
  "POST /aiserver.v1.DashboardService/GetMe",
  "GET /v1/me",
];

/** Heartbeats that cross the end of the answer reach nobody. */
const LAST_HEARTBEATS = /(?:00000000023a00)+$/;

describe.each(["h2", "h1"] as const)("a model of the account through the face, over %s", (hostConfig) => {
  it("is the same for the official client and the backend, byte by byte", async () => {
    const place = { home: makeFolder(), cwd: makeFolder() };
    writeFileSync(join(place.cwd, "a.txt"), "in the file\n");
    const { sim } = await setUpSim({}, { hostConfig });
    const direct = await startTap(sim.url);
    const behind = await startTap(sim.url);
    const { url } = await setUpFace(behind.url);
    const before = await startTap(url);

    const outcomes = [await converse(direct.url, place), await converse(before.url, place)];
    expect(outcomes[0]?.map(({ status }) => status)).toEqual(["finished", "finished"]);
    expect(outcomes[1]?.map(seen)).toEqual(outcomes[0]?.map(seen));

    // The face changes no byte of any body, in either direction.
    const whole = ({ version, target, sent, received }: TappedCall) =>
      `${version} ${target} ${sent.toString("hex").replace(LAST_HEARTBEATS, "")} ${received.toString("hex")}`;
    const calls = { before: before.calls().map(whole).sort(), behind: behind.calls().map(whole).sort() };
    const isOwn = (call: string) => OWN_QUESTIONS.some((path) => call.includes(` ${path} `));
    const isTheirs = (call: string) => !isOwn(call) || calls.before.includes(call);
    expect(new Set(calls.behind.filter(isTheirs))).toEqual(new Set(calls.before));
    expect(calls.behind.filter((call) => !isOwn(call))).toEqual(calls.before.filter((call) => !isOwn(call)));

    // And the backend hears and says, frame by frame, what it would without the face.
    const [alone, passed] = [runsOf(direct.calls()), runsOf(behind.calls())];
    expect(alone.map(({ received }) => received.length > 10)).toEqual(TURNS.map(() => true));
    expect(comparable(passed)).toEqual(comparable(alone));
  });
});

/** What a user sees, with retries switched off. */
const FAULTS = [
  ...["tcp-reset", "rst", "rst code=8", "refused", "goaway", "truncate", "garbage", "gzip", "split", "dup-frame"],
  ...["end-without-turn-ended", "late-checkpoint", "no-usage"],
];
const RETRIED = ["tcp-reset", "rst", "goaway"];

describe.each(["h2", "h1"] as const)("a backend that fails, over %s", (hostConfig) => {
  it("shows the official client the same with and without the face", async () => {
    const { url, sim } = await setUpSim({}, { hostConfig });
    const cwd = makeFolder();
    await using direct = new SdkProcess({ url: sim.url, home: makeFolder(), apiKey: "direct" });
    await using passed = new SdkProcess({ url, home: makeFolder(), apiKey: "passed" });
    const outcomeOf = async (sdk: SdkProcess, fault: string, enableAgentRetries: boolean) => {
      const agent = `${fault} ${enableAgentRetries}`;
      await sdk.create(agent, { local: { cwd, enableAgentRetries } });
      const { status, error, text } = await sdk.send(agent, `@sim say one ;; fault ${fault} times=1 ;; say two`);
      return { fault, status, error, text };
    };
    const compare = async (fault: string, isRetried: boolean) => {
      const both = [outcomeOf(direct, fault, isRetried), outcomeOf(passed, fault, isRetried)];
      const [alone, through] = await Promise.all(both);
      expect(through).toEqual(alone);
      return alone;
    };
    for (const fault of FAULTS) await compare(fault, false);
    for (const fault of RETRIED) expect((await compare(fault, true))?.status).toBe("finished");
  });
});

it.each(["h2", "h1"] as const)(
  "a run that the official client cancels is over for the backend, over %s",
  async (hostConfig) => {
    const { url, sim } = await setUpSim({}, { hostConfig });
    await using sdk = new SdkProcess({ url, home: makeFolder(), apiKey: "passed" });
    await sdk.create("a", { local: { cwd: makeFolder(), enableAgentRetries: false } });
    const { status } = await sdk.send("a", "@sim say begun ;; silent 600000 ;; say never", ({ type }) => {
      if (type === "assistant") void sdk.cancel("a");
    });
    expect(status).toBe("cancelled");
    await expect.poll(() => sim.stats().openRuns, { timeout: 10_000 }).toBe(0);
  },
);

describe.each(["h2", "h1"] as const)("the official client over %s", (hostConfig) => {
  it("that is killed in the middle of a run is gone for the backend, with and without the face", async () => {
    const { url, sim } = await setUpSim({}, { hostConfig });
    for (const origin of [sim.url, url]) {
      const sdk = new SdkProcess({ url: origin, home: makeFolder(), apiKey: "passed" });
      await sdk.create("a", { local: { cwd: makeFolder(), enableAgentRetries: false } });
      const begun = Promise.withResolvers<void>();
      const running = sdk.send("a", "@sim say begun ;; silent 600000 ;; say never", ({ type }) => {
        if (type === "assistant") begun.resolve();
      });
      running.catch(() => {});
      await begun.promise;
      expect(sim.stats().openRuns).toBe(1);
      await sdk.kill();
      await expect.poll(() => sim.stats().openRuns, { timeout: 10_000 }).toBe(0);
    }
  });
});
