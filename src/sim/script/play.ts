import { ConnectFailure, errorNumber } from "../../wire/connect/connect-failure.ts";
import { fillPlaceholders, type Received } from "./placeholders.ts";
import type { FailStep, FaultStep, Step, TurnTokens } from "./step.ts";

type StepOf<T extends Step["type"]> = Extract<Step, { type: T }>;
export type CallStep = StepOf<"call">;
export type ExecStep = StepOf<"exec">;
export type AskStep = StepOf<"ask">;

/** What a script is played on: one answer in one protocol. Await a method that returns a promise. */
export interface Stage {
  readonly received: Received;
  offers(tool: string): boolean;
  text(delta: string): Promise<void> | undefined;
  thinking(delta: string): Promise<void> | undefined;
  thinkingCompleted(durationMs: number): void;
  /** Makes all calls of the batch at once, and waits for all results, in the order of the batch. */
  call(batch: readonly CallStep[]): Promise<readonly string[]>;
  exec(batch: readonly ExecStep[]): Promise<readonly string[]>;
  ask(step: AskStep): Promise<string>;
  /** Injects the fault. Throws if nothing can follow it. */
  fault(step: FaultStep): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** Called between two steps with the number of steps done. */
  checkpoint(stepsDone: number): Promise<void>;
  skip(reason: string): void;
}

export interface Play {
  /** May grow during the play, because a client can steer. */
  readonly steps: readonly Step[];
  /** Steps that an earlier attempt has done. */
  readonly from: number;
  /** Tool results of this turn from an earlier attempt. */
  readonly results: readonly string[];
  readonly echo: string;
  /** True if a fault or failure is to happen (again). */
  readonly isDue: (index: number, times: number) => boolean;
}

/** Plays the steps of one turn in order. Returns the usage that the script sets. */
export async function play(
  { steps, from, results: earlier, echo, isDue }: Play,
  stage: Stage,
): Promise<TurnTokens | undefined> {
  const results = [...earlier];
  let lastAnswer = results.at(-1) ?? "";
  let usage: TurnTokens | undefined;
  const isWanted = hasNeeded(steps, (tool) => stage.offers(tool));
  let hasActed = isWanted && from > 0;
  const invalid: string[] = [];
  const fill = (text: string) => fillPlaceholders(text, stage.received, { results, last: lastAnswer });
  const take = (answers: readonly string[]) => {
    results.push(...answers);
    lastAnswer = answers.at(-1) ?? lastAnswer;
  };

  for (let index = from; isWanted && index < steps.length; index++) {
    const step = steps[index];
    if (!step) break;
    switch (step.type) {
      case "say":
        await stream(splitAtSpaces(fill(step.text)), (delta) => stage.text(delta));
        break;
      case "think": {
        const start = performance.now();
        await stream(splitAtSpaces(fill(step.text)), (delta) => stage.thinking(delta));
        stage.thinkingCompleted(Math.max(1, Math.round(performance.now() - start)));
        break;
      }
      case "tokens":
        await streamTokens(step, stage);
        break;
      case "silent":
        await stage.sleep(step.ms);
        break;
      case "call": {
        const batch = batchAt(steps, index, "call");
        index += batch.length - 1;
        const offered = batch.filter(({ name }) => {
          const isOffered = stage.offers(name);
          if (!isOffered) stage.skip(`call ${name}: the tool was not offered`);
          return isOffered;
        });
        if (offered.length === 0) continue;
        take(await stage.call(offered));
        break;
      }
      case "exec": {
        const batch = batchAt(steps, index, "exec");
        index += batch.length - 1;
        take(await stage.exec(batch));
        break;
      }
      case "ask":
        lastAnswer = await stage.ask(step);
        break;
      case "fail":
        if (!isDue(index, step.times)) continue;
        throw failureOf(step, fill(step.text));
      case "fault":
        if (isDue(index, step.times)) await stage.fault(step);
        continue;
      case "usage":
        usage = step;
        continue;
      case "invalid":
        stage.skip(`${step.source}: ${step.reason}`);
        invalid.push(`"${step.source}": ${step.reason}.`);
        continue;
      case "wait":
      case "need":
      case "next":
        continue;
      default:
        step satisfies never;
    }
    hasActed = true;
    // After the last step the end of the turn brings one.
    if (steps.slice(index + 1).some(acts)) await stage.checkpoint(index + 1);
  }

  if (!hasActed) {
    const text = invalid.length === 0 ? echo : `I did not understand ${invalid.join(" ")}`;
    await stream(splitAtSpaces(text), (delta) => stage.text(delta));
  }
  return usage;
}

const acts = ({ type }: Step): boolean => !["wait", "usage", "need", "next", "invalid"].includes(type);

/** True if each `need` has at least one offered tool. Otherwise the script is not meant for this client. */
export function hasNeeded(steps: readonly Step[], offers: (tool: string) => boolean): boolean {
  return steps.every((step) => step.type !== "need" || step.names.some(offers));
}

export function failureOf(step: FailStep, text: string): ConnectFailure {
  const error = step.errorName === undefined ? undefined : errorNumber(step.errorName);
  const details =
    error === undefined ? undefined : { error, title: step.title, detail: text, retryable: step.retryable };
  return new ConnectFailure(step.code, details ? "Error" : text || "Error", {
    ...(details ? { details } : {}),
    metadata: {
      ...(step.retryAfterS === undefined ? {} : { "retry-after": String(step.retryAfterS) }),
      ...(step.errorType === undefined ? {} : { "x-cursor-inference-request-error-type": step.errorType }),
    },
    ...(step.http === undefined ? {} : { http: step.http }),
  });
}

/** Returns the consecutive steps of one kind from here on, which run in parallel. */
function batchAt<T extends "call" | "exec">(steps: readonly Step[], index: number, type: T): StepOf<T>[] {
  const batch: StepOf<T>[] = [];
  for (const step of steps.slice(index)) {
    if (step.type !== type) break;
    batch.push(step as StepOf<T>);
  }
  return batch;
}

const splitAtSpaces = (text: string): string[] => (text === "" ? [] : text.split(/(?= )/));

async function stream(deltas: Iterable<string>, send: (delta: string) => Promise<void> | undefined): Promise<void> {
  for (const delta of deltas) {
    const full = send(delta);
    if (full) await full;
  }
}

async function streamTokens({ count, everyMs }: StepOf<"tokens">, stage: Stage): Promise<void> {
  const start = performance.now();
  for (let n = 0; n < count; n++) {
    const full = stage.text(n === 0 ? "t0" : ` t${n}`);
    if (full) await full;
    // Scheduled from the start, so that late timers do not add up.
    if (everyMs > 0) await stage.sleep(start + (n + 1) * everyMs - performance.now());
  }
}
