import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { Turn } from "../../../../src/core/turn.ts";
import type { ServerExchange } from "../../../../src/wire/http/server-exchange.ts";
import { CALLS, call, STOP, say } from "../../../faces/cursor/support/models.ts";
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

/** Which side sends the frame at which a stream drops. */
type Side = "server" | "client";

/** Runs the task with the stream of its first attempt broken off before the n-th frame of one side. */
async function setUp(hostConfig: Transport, side: Side) {
  const exchanges = new Map<string, CutExchange>();
  const appends = new Map<string, Set<ServerExchange>>();
  const sent = new Map<string, number>();
  const losing = new Map<string, number>();
  const attempts = new Map<string, number>();
  const cuts = new Map<string, number>();

  /** Loses a frame of the client: the upload that carries it fails, and the download breaks off. */
  const isLost = (requestId: string): boolean => {
    const nth = (sent.get(requestId) ?? 0) + 1;
    sent.set(requestId, nth);
    if (nth < (losing.get(requestId) ?? Number.POSITIVE_INFINITY)) return false;
    exchanges.get(requestId)?.reset();
    for (const append of appends.get(requestId) ?? []) append.reset();
    return true;
  };

  const stage = await setUpOwnRuns(hostConfig, answer, {
    face: {
      makeExchange(request, response) {
        const exchange = new CutExchange(request, response);
        const requestId = exchange.header("x-request-id") ?? "";
        if (/Service\/Run(SSE)?$/.test(exchange.path)) exchanges.set(requestId, exchange);
        if (exchange.path.endsWith("/BidiAppend")) {
          const open = appends.get(requestId) ?? new Set();
          appends.set(requestId, open.add(exchange));
          exchange.onOver(() => open.delete(exchange));
        }
        return exchange;
      },
    },
    beforeMessage({ message }, requestId) {
      if (message.case === "runRequest") {
        const { conversationId = "" } = message.value;
        const attempt = (attempts.get(conversationId) ?? 0) + 1;
        attempts.set(conversationId, attempt);
        const exchange = exchanges.get(requestId);
        const cutAt = attempt === 1 ? cuts.get(conversationId) : undefined;
        if (cutAt !== undefined && side === "client") losing.set(requestId, cutAt);
        if (cutAt !== undefined && side === "server" && exchange) exchange.cutAt = cutAt;
        last = requestId;
      }
      // Heartbeats come by the clock, so they are not counted.
      return message.case !== "clientHeartbeat" && isLost(requestId) ? "lose" : undefined;
    },
  });
  let last = "";
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
  const framesOfLast = () => (side === "server" ? exchanges.get(last)?.frames : sent.get(last)) ?? 0;
  return { sdk, attempt, framesOfLast };
}

const SIDES = TRANSPORTS.flatMap((transport) => (["server", "client"] as const).map((side) => ({ transport, side })));

describe.each(SIDES)("a stream of the official client that drops, over $transport", ({ transport, side }) => {
  it(
    `lets nothing be executed twice, at whichever frame of the ${side} it drops (REL-05)`,
    async () => {
      const { sdk: client, attempt, framesOfLast } = await setUp(transport, side);
      await using _ = client;
      const whole = await attempt(10_000);
      expect([whole.outcome.status, whole.attempts]).toEqual(["finished", 1]);
      expect(whole.effects).toEqual(["second", "shell", "slow"]);
      const frames = framesOfLast();
      expect(frames).toBeGreaterThan(side === "server" ? 25 : 10);
      const reports: Awaited<ReturnType<typeof attempt>>[] = [];
      for (let n = 1; n <= frames; n += AT_ONCE) {
        const some = Array.from({ length: Math.min(AT_ONCE, frames - n + 1) }, (_value, index) => attempt(n + index));
        reports.push(...(await Promise.all(some)));
      }
      const made = reports.map(({ effects }) => effects.length);
      console.info(`${transport}: cut at each of ${frames} frames of the ${side}; effects: ${made.join(" ")}`);
      const wrongs = reports.flatMap(({ outcome: { status, error, text }, ...report }, n) => {
        const isTwice = new Set(report.effects).size !== report.effects.length;
        return status === "finished" && text.endsWith("Done.") && !isTwice
          ? []
          : [{ n: n + 1, status, error, ...report }];
      });
      expect(wrongs).toEqual([]);
      // Only a call that was on its way may be lost: those before it and after it are made. While the client sends frames, a
      // command is on its way for as long as the machine takes to start it.
      if (side === "server") expect(made.filter((count) => count < 3).length).toBeLessThan(frames / 3);
      expect(Math.min(...made)).toBeGreaterThan(0);
    },
    SLOW_MS,
  );
});
