import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { Turn } from "../../../src/core/turn.ts";
import { CALLS, call, STOP, say } from "../../faces/cursor/support/models.ts";
import { CutExchange } from "./support/cut-exchange.ts";
import { OWN, setUpOwnRuns, TRANSPORTS, type Transport } from "./support/stage.ts";

/** More than fifty runs, each with a pause of the client before it tries again. */
const SLOW_MS = 600_000;

/** Attempts that run at the same time. */
const AT_ONCE = 8;

/** Two rounds of calls that leave traces, and an answer. The rounds are counted by the results that the model has. */
function answer({ messages }: Turn): readonly TurnEvent[] {
  const results = messages.filter(({ role }) => role === "tool").length;
  const asked = messages.find(({ role }) => role === "user")?.content[0];
  const name = asked?.type === "text" ? asked.text : "";
  if (results === 0) {
    return [
      { type: "thinking", text: "hm" },
      { type: "thinking-done", durationMs: 3, signature: "sig" },
      say("Working. "),
      call("c1", "shell", { command: "echo shell >> effects" }),
      call("c2", "slow", { ms: 1, text: name }),
      CALLS,
    ];
  }
  if (results === 2) return [call("c3", "shell", { command: "echo second >> effects" }), CALLS];
  return [say("Done."), STOP];
}

/** Runs the task with the stream of its first attempt broken off before the n-th frame. */
async function setUp(hostConfig: Transport) {
  const exchanges = new Map<string, CutExchange>();
  const attempts = new Map<string, number>();
  const cuts = new Map<string, number>();
  const stage = await setUpOwnRuns(hostConfig, answer, {
    face: {
      makeExchange(request, response) {
        const exchange = new CutExchange(request, response);
        if (/Service\/Run(SSE)?$/.test(exchange.path)) {
          exchanges.set(exchange.header("x-request-id") ?? "", exchange);
        }
        return exchange;
      },
    },
    beforeMessage({ message }, requestId) {
      if (message.case !== "runRequest") return;
      const { conversationId = "" } = message.value;
      const attempt = (attempts.get(conversationId) ?? 0) + 1;
      attempts.set(conversationId, attempt);
      const exchange = exchanges.get(requestId);
      if (exchange && attempt === 1) exchange.cutAt = cuts.get(conversationId) ?? exchange.cutAt;
      last = exchange;
    },
  });
  let last: CutExchange | undefined;
  const sdk = stage.startSdk();
  const attempt = async (n: number) => {
    const cwd = join(stage.cwd, String(n));
    mkdirSync(cwd);
    const id = await sdk.create(`cut ${n}`, { model: OWN, local: { cwd, enableAgentRetries: true } });
    cuts.set(id, n);
    const outcome = await sdk.send(`cut ${n}`, `cut ${n}`);
    const effects = join(cwd, "effects");
    return {
      outcome,
      attempts: attempts.get(id) ?? 0,
      effects: [
        ...(existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n") : []),
        ...sdk.slowTexts.filter((text) => text === `cut ${n}`).map(() => "slow"),
      ].sort(),
    };
  };
  return { sdk, attempt, framesOfLast: () => last?.frames ?? 0, turns: stage.turns };
}

describe.each(TRANSPORTS)("a stream of the official client that drops, over %s", (hostConfig) => {
  it(
    "lets nothing be executed twice, at whichever frame it drops (REL-05)",
    async () => {
      const { sdk: client, attempt, framesOfLast } = await setUp(hostConfig);
      await using _ = client;
      const whole = await attempt(10_000);
      expect([whole.outcome.status, whole.attempts]).toEqual(["finished", 1]);
      expect(whole.effects).toEqual(["second", "shell", "slow"]);
      const frames = framesOfLast();
      expect(frames).toBeGreaterThan(25);
      const reports: Awaited<ReturnType<typeof attempt>>[] = [];
      for (let n = 1; n <= frames; n += AT_ONCE) {
        const some = Array.from({ length: Math.min(AT_ONCE, frames - n + 1) }, (_value, index) => attempt(n + index));
        reports.push(...(await Promise.all(some)));
      }
      const made = reports.map(({ effects }) => effects.length);
      console.info(`${hostConfig}: cut at each of ${frames} frames; effects: ${made.join(" ")}`);
      const wrongs = reports.flatMap(({ outcome: { status, error, text }, ...report }, n) => {
        const isTwice = new Set(report.effects).size !== report.effects.length;
        return status === "finished" && text.endsWith("Done.") && !isTwice
          ? []
          : [{ n: n + 1, status, error, ...report }];
      });
      expect(wrongs).toEqual([]);
      // Only a call that was on its way may be lost: those before it and after it are made.
      expect(made.filter((count) => count < 3).length).toBeLessThan(frames / 3);
      expect(Math.min(...made)).toBeGreaterThan(0);
    },
    SLOW_MS,
  );
});
