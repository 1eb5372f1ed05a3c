import { AgentClient } from "../clients/agent-client.ts";
import { CHAT_THINKING } from "../clients/dialect.ts";
import { type BenchResult, median, percentile, spreadOf } from "../harness/measure.ts";
import { type Face, type Subject, startFace, startRelay } from "../harness/processes.ts";
import { compare, loadNote, measureRounds, ratioOf, type Testbed } from "../harness/testbed.ts";
import type { Plan } from "../peers/plan.ts";
import { costOf, type TokenCost, tokenCost } from "./cpu-per-token.ts";

const FULL_SPEED = { streams: 16, tokens: 20_000 };
const PACED = { streams: 100, tokens: 150, rate: 50 };
const REQUESTS = 500;
const FIRST_TOKEN = { tokens: 4 };

/** Compares the Cursor face with a bare relay for the account's models, and with Chat Completions for one of our own. */
export async function measureCursorFace(bed: Testbed): Promise<BenchResult[]> {
  const relay = await startRelay(bed.upstream);
  const face = await startFace(bed.upstream, {
    EXCURSOR_MODELS: "bench=anthropic",
    EXCURSOR_ANTHROPIC_BASE_URL: bed.upstream.url,
  });
  try {
    return [...(await passThrough({ floor: relay, gateway: face.cursor })), ...(await ownModel(face))];
  } finally {
    await Promise.all([relay.stop(), face.stop()]);
  }
}

async function passThrough(bed: Pick<Testbed, "floor" | "gateway">): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const load of [FULL_SPEED, PACED]) {
    const rounds = await compare(bed, (subject) => runCost(subject, load, "composer-1"));
    const name = "rate" in load ? `paced, ${load.streams} × ${load.rate}/s` : `full speed, ${load.streams} streams`;
    results.push({
      name: `Cursor face / relay: CPU per token, ${name}`,
      bound: 1.3,
      ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs"),
    });
  }
  const rounds = await compare(bed, firstTokenUs);
  results.push({ name: "Cursor face / relay: first token, p50", bound: 1.5, ...ratioOf(rounds, (us) => us, "µs") });
  return results;
}

async function ownModel({ cursor, gateway }: Face): Promise<BenchResult[]> {
  const rounds = await measureRounds(async (round) => {
    const chat = () => tokenCost(gateway, FULL_SPEED, CHAT_THINKING);
    // A key of the gateway gives access to its own models.
    const own = () => runCost({ ...cursor, key: gateway.key }, FULL_SPEED, "excursor/bench");
    if (round % 2 === 0) return { chat: await chat(), own: await own() };
    const first = await own();
    return { chat: await chat(), own: first };
  });
  const ratios = rounds.map(({ chat, own }) => own.cpuUs / chat.cpuUs);
  const [ours, theirs] = [median(rounds.map(({ own }) => own.cpuUs)), median(rounds.map(({ chat }) => chat.cpuUs))];
  return [
    {
      name: "own model: Cursor face / Chat Completions: CPU per token",
      value: median(ratios),
      bound: 1.5,
      note: `${spreadOf(ratios, 2)}; ${ours.toPrecision(3)} against ${theirs.toPrecision(3)} µs${loadNote(rounds)}`,
    },
  ];
}

/** As `tokenCost`, for runs of Cursor's agent protocol: a connection for each, as its clients have. */
export function runCost(
  subject: Subject,
  load: Plan & { readonly streams: number },
  model: string,
): Promise<TokenCost> {
  return costOf(subject.pid, load, (plan, onFirst) => {
    const client = new AgentClient(subject.port, subject.key, model);
    const { answer, done } = client.ask(plan, onFirst);
    return { answer, done: done.finally(() => client.close()) };
  });
}

export async function firstTokenUs({ port, key }: Subject): Promise<number> {
  const client = new AgentClient(port, key, "composer-1");
  const waits: number[] = [];
  for (let n = 0; n < REQUESTS; n++) {
    const { answer, done } = client.ask(FIRST_TOKEN);
    await done;
    waits.push(answer.firstTokenUs);
  }
  client.close();
  return percentile(waits, 0.5);
}
