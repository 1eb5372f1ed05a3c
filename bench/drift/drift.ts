import { parseArgs } from "node:util";
import { INTERRUPTED, type Subject, startGateway, startUpstream, type Upstream } from "../harness/processes.ts";
import { inTurn, loadNote, measureRounds } from "../harness/testbed.ts";
import { type Group, listFigures } from "./figures.ts";
import { findCommit, isDirty, type OtherCheckout, openCheckout } from "./other-checkout.ts";
import { compareRounds, formatTable } from "./report.ts";

const ROUNDS = 7;

/**
 * Compares the gateway of this checkout with that of another commit, and shows the floor beside both. Returns the exit code:
 * 1 if a figure is worse, 64 for arguments or a checkout that it cannot work with, 70 if it failed, 130 if it was interrupted.
 */
export async function drift(args: readonly string[]): Promise<number> {
  const asked = readArguments(args);
  if (typeof asked === "string") return fail(64, asked);
  const interrupted = new Promise<never>((_, reject) => {
    const interrupt = () => {
      process.exitCode = INTERRUPTED;
      tell("stopping");
      reject(new Error("interrupted"));
    };
    process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  });
  // It may come when nothing waits for it.
  interrupted.catch(() => {});
  let other: OtherCheckout | undefined;
  let upstream: Upstream | undefined;
  try {
    tell(`preparing ${asked.commit}`);
    other = openCheckout(asked.commit);
    upstream = await startUpstream();
    const bench = { upstream, other: other.program, interrupted };
    const { figures, note } = await measureAll(bench, listFigures(asked.isShort));
    tell("");
    if (asked.isJson) {
      console.log(
        JSON.stringify({ this: findCommit("HEAD"), other: asked.commit, rounds: ROUNDS, figures }, undefined, 2),
      );
    } else console.log(`${formatTable(figures)}\n\n${ROUNDS} rounds${note}`);
    return figures.some(({ verdict }) => verdict === "worse") ? 1 : 0;
  } catch (error) {
    if (process.exitCode === INTERRUPTED) return fail(INTERRUPTED, "Interrupted.");
    return fail(70, `The comparison failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    upstream?.stop();
    other?.remove();
    // What was measured meanwhile may wait for ever for a process that has ended.
    if (process.exitCode === INTERRUPTED) process.exit(INTERRUPTED);
  }
}

interface Asked {
  readonly commit: string;
  readonly isShort: boolean;
  readonly isJson: boolean;
}

const OPTIONS = { against: { type: "string" }, short: { type: "boolean" }, json: { type: "boolean" } } as const;

/** Returns a sentence if something is wrong with them, or with the checkout. */
function readArguments(args: readonly string[]): Asked | string {
  const { tokens, values } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true });
  const wrong = tokens.find((token) => token.kind !== "option" || !(token.name in OPTIONS));
  if (wrong) return `bench -- drift takes --against REV, --short and --json, not ${args[wrong.index]}.`;
  const { against = "HEAD~1", short, json } = values;
  const commit = typeof against === "string" ? findCommit(against) : undefined;
  if (commit === undefined)
    return `--against needs a commit of this repository${against === true ? "" : `, not ${against}`}.`;
  if (isDirty())
    return "This checkout has changes that are not committed: commit them, so that the figures are those of a commit.";
  return { commit, isShort: short === true, isJson: json === true };
}

interface Bench {
  readonly upstream: Upstream;
  /** The command line of the other checkout. */
  readonly other: string;
  /** Rejects when the user interrupts. */
  readonly interrupted: Promise<never>;
}

/** Each round has new processes: two processes of the same code differ, too. */
async function measureAll(bench: Bench, groups: readonly Group[]) {
  // Fills the compile caches.
  for (const program of [undefined, bench.other]) await (await startGateway(bench.upstream, {}, program)).stop();
  const rounds = await measureRounds(
    async (round) => {
      const samples: Sample[] = [];
      for (const group of groups) samples.push(...(await measureGroup(bench, group, round)));
      return { samples };
    },
    { count: ROUNDS, extra: 0, isWarm: true },
  );
  const figures = groups.flatMap((group) => group.figures);
  const compared = figures.map(({ name, unit }, at) => {
    const values = (side: keyof Sample) => rounds.flatMap(({ samples }) => samples[at]?.[side] ?? []);
    return compareRounds({ name, unit, floor: values("floor"), other: values("other"), this: values("this") });
  });
  return { figures: compared, note: loadNote(rounds) };
}

async function measureGroup({ upstream, other, interrupted }: Bench, group: Group, round: number): Promise<Sample[]> {
  await using subjects = new AsyncDisposableStack();
  const open = async (starting: Promise<Subject>) => {
    const subject = await starting;
    subjects.defer(() => subject.stop());
    return subject;
  };
  const unlessInterrupted = <Value>(value: Value) => Promise.race([value, interrupted]);
  const floor = await open(group.startFloor(upstream));
  const gateways = { other: await open(group.start(upstream, other)), this: await open(group.start(upstream)) };
  await inTurn(round, { floor, ...gateways }, (subject) => unlessInterrupted(group.warmUp?.(subject)));
  const samples: Sample[] = [];
  for (const { name, hasNoFloor, measure } of group.figures) {
    tell(`round ${round} of ${ROUNDS}: ${name}`);
    const sides: Record<string, Subject> = hasNoFloor ? gateways : { floor, ...gateways };
    const value = (subject: Subject) => unlessInterrupted(measure(subject, upstream));
    samples.push(await (group.isAtOnce ? atOnce(sides, value) : inTurn(round, sides, value)));
  }
  return samples;
}

interface Sample {
  readonly floor?: number;
  readonly other?: number;
  readonly this?: number;
}

async function atOnce(
  sides: Readonly<Record<string, Subject>>,
  measure: (subject: Subject) => Promise<number>,
): Promise<Sample> {
  const entries = Object.entries(sides).map(async ([side, subject]) => [side, await measure(subject)]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Replaces the line that shows progress, on a terminal. */
function tell(progress: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progress}`);
}

function fail(code: number, sentence: string): number {
  tell("");
  console.error(sentence);
  return code;
}
