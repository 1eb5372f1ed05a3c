import { type BenchDialect, GEMINI, MESSAGES, OLLAMA, RESPONSES } from "../clients/dialect.ts";
import { Connection, WholeAnswer } from "../clients/load.ts";
import { percentile } from "../harness/measure.ts";
import {
  heldBytes,
  type Subject,
  startFace,
  startFloor,
  startGateway,
  startRelay,
  type Upstream,
} from "../harness/processes.ts";
import { cpuMs } from "../harness/usage.ts";
import { tokenCost } from "../streams/cpu-per-token.ts";
import { firstTokenUs, runCost } from "../streams/cursor-face.ts";
import { measureResets } from "../streams/disconnect.ts";
import { measureWaits } from "../streams/first-token.ts";
import { bytesPerStream } from "../streams/idle-streams.ts";
import { measureRequests, warmUp } from "../streams/short-requests.ts";
import { measureStall } from "../streams/stalled-reader.ts";
import { bytesPerRun, measureResumes } from "../tools/parked-runs.ts";

/** Something of a whole gateway of which less is better. */
interface Figure {
  readonly name: string;
  readonly unit: string;
  /** The smallest relay cannot do it. */
  readonly hasNoFloor?: true;
  readonly measure: (subject: Subject, upstream: Upstream) => Promise<number>;
}

/** Figures that are measured in the same processes, one after the other. */
export interface Group {
  readonly startFloor: (upstream: Upstream) => Promise<Subject>;
  readonly start: (upstream: Upstream, program?: string) => Promise<Subject>;
  readonly warmUp?: (subject: Subject) => Promise<unknown>;
  /** Memory does not depend on what else runs, so all sides are measured together. */
  readonly isAtOnce?: true;
  readonly figures: readonly Figure[];
}

const KIB = 1024;
const MIB = 1024 * KIB;
const FULL_SPEED = { streams: 16, tokens: 20_000 };
const MANY = { streams: 256, tokens: 2_000 };
const PACED = { streams: 100, tokens: 150, rate: 50 };

/** Returns what is compared. The short list has smaller loads, too. */
export function listFigures(isShort: boolean): readonly Group[] {
  return isShort
    ? [streams(true), PROCESS, idleStreams(30)]
    : [streams(false), PROCESS, idleStreams(100), STALL, FACE, OWN_MODEL];
}

const gateway: Pick<Group, "startFloor" | "start"> = {
  startFloor,
  start: (upstream, program) => startGateway(upstream, {}, program),
};

const face: Pick<Group, "startFloor" | "start"> = {
  startFloor: startRelay,
  start: async (upstream, program) => {
    const { cursor, stop } = await startFace(upstream, {}, program);
    return { ...cursor, stop };
  },
};

function streams(isShort: boolean): Group {
  const fullSpeed = isShort ? { ...FULL_SPEED, tokens: 10_000 } : FULL_SPEED;
  const paced = isShort ? { ...PACED, tokens: 80 } : PACED;
  const perToken = (load: Load, dialect?: BenchDialect) => (subject: Subject) => cpu(tokenCost(subject, load, dialect));
  const first = [
    figure("CPU per token, 16 streams", "µs", perToken(fullSpeed)),
    figure("CPU per token, paced", "µs", perToken(paced)),
    figure("first token, p50", "µs", async (subject) => (await measureWaits(subject)).p50),
    figure("short request, CPU", "µs", (subject) => cpu(measureRequests(subject))),
  ];
  const others = [
    figure("CPU per token, 256 streams", "µs", perToken(MANY)),
    ...[RESPONSES, MESSAGES, OLLAMA, GEMINI].map((dialect) =>
      withoutFloor(figure(`CPU per token, ${dialect.name}`, "µs", perToken(fullSpeed, dialect))),
    ),
    figure("tool result to first token, p50", "µs", async (subject) => (await measureResumes(subject)).p50),
    figure("client gone to upstream reset, p50", "ms", async (subject, upstream) =>
      percentile(await measureResets(subject, upstream, Date.now()), 0.5),
    ),
  ];
  return {
    ...gateway,
    warmUp: (subject) => warmUp(subject, isShort ? 5_000 : 25_000),
    figures: isShort ? first : [...first, ...others],
  };
}

const PROCESS: Group = {
  ...gateway,
  isAtOnce: true,
  figures: [
    figure("start to first answer, CPU", "ms", firstAnswerMs),
    figure("idle memory", "MiB", async (subject) => (await heldBytes(subject)) / MIB),
    figure("memory of a parked run", "KiB", async (subject) => (await bytesPerRun(subject)) / KIB),
  ],
};

const idleStreams = (warmUps: number): Group => ({
  ...gateway,
  isAtOnce: true,
  figures: [
    figure("memory of an idle stream", "KiB", async (subject) => (await bytesPerStream(subject, warmUps)) / KIB),
  ],
});

const STALL: Group = {
  ...gateway,
  figures: [
    withoutFloor(
      figure("memory of a stalled reader", "MiB", async (subject, upstream) => {
        return (await measureStall(subject, upstream)).bytes / MIB;
      }),
    ),
  ],
};

/** One of the account's models, which is passed on. */
const PASSED = "composer-1";

const FACE: Group = {
  ...face,
  warmUp: (subject) => runCost(subject, FULL_SPEED, PASSED),
  figures: [
    figure("Cursor face: CPU per token", "µs", (subject) => cpu(runCost(subject, FULL_SPEED, PASSED))),
    figure("Cursor face: CPU per token, paced", "µs", (subject) => cpu(runCost(subject, PACED, PASSED))),
    figure("Cursor face: first token, p50", "µs", firstTokenUs),
  ],
};

const OWN_MODEL: Group = {
  ...face,
  start: async (upstream, program) => {
    const own = { EXCURSOR_MODELS: "bench=anthropic", EXCURSOR_ANTHROPIC_BASE_URL: upstream.url };
    const { cursor, gateway: withKey, stop } = await startFace(upstream, own, program);
    return { ...cursor, key: withKey.key, stop };
  },
  figures: [
    withoutFloor(
      figure("Cursor face, own model: CPU per token", "µs", (subject) =>
        cpu(runCost(subject, FULL_SPEED, "excursor/bench")),
      ),
    ),
  ],
};

type Load = Parameters<typeof tokenCost>[1];

function figure(name: string, unit: string, measure: Figure["measure"]): Figure {
  return { name, unit, measure };
}

function withoutFloor(one: Figure): Figure {
  return { ...one, hasNoFloor: true };
}

async function cpu(cost: Promise<{ readonly cpuUs: number }>): Promise<number> {
  return (await cost).cpuUs;
}

async function firstAnswerMs(subject: Subject): Promise<number> {
  const connection = new Connection(subject);
  await connection.ask({ tokens: 1 }, new WholeAnswer());
  connection.destroy();
  return cpuMs(subject.pid);
}
