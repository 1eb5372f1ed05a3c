import OpenAI from "openai";
import { expect, onTestFinished } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { KEY, setUpGateway } from "../../gateway/support/gateway-process.ts";
import { startRelay } from "./relay.ts";
import { runTask, type TaskReport } from "./tool-task.ts";

/** Who is lost, and how. */
export const ACCIDENTS = [
  "the upstream is killed",
  "the upstream hangs up",
  "the client is killed",
  "the client's connection is reset",
] as const;
type Accident = (typeof ACCIDENTS)[number];

/** Runs are given up after this, so that those of clients that never came back can be counted. */
const PARKED_MS = 1500;

/** The simulator, a relay, a gateway process, a relay, and a client: everything but the relays is the real thing. */
export async function setUpFaults(hostConfig: "h1" | "h2") {
  let url = "";
  const downstream = await startRelay(() => url);
  const { start, trace, simUrl } = await setUpGateway(
    { hostConfig },
    { EXCURSOR_LIMITS_PARKED_MS: String(PARKED_MS), EXCURSOR_HOSTS: new URL(downstream.url).host },
  );
  const upstream = await startRelay(() => simUrl);
  const gateway = await start("--upstream", upstream.url);
  url = gateway.url;
  onTestFinished(async () => {
    await Promise.all([upstream.close(), downstream.close()]);
  });
  const client = new OpenAI({ baseURL: `${downstream.url}/v1`, apiKey: KEY, maxRetries: 0 });
  let leave = () => {};
  const cause: Readonly<Record<Accident, () => void>> = {
    "the upstream is killed": upstream.breakAll,
    "the upstream hangs up": upstream.closeAll,
    "the client is killed": () => leave(),
    "the client's connection is reset": downstream.breakAll,
  };
  return {
    /** The task with the accident before the n-th unit; undefined if there are not so many. */
    async attempt(accident: Accident, n: number): Promise<TaskReport | undefined> {
      const relay = accident === "the client's connection is reset" ? downstream : upstream;
      let isDone = false;
      relay.arm(n, () => {
        isDone = true;
        cause[accident]();
      });
      const report = await runTask(client, (leaves) => {
        leave = leaves;
      });
      return isDone ? report : undefined;
    },
    /** No result came twice, nothing is left open at the backend or in the call log, and it was not all for nothing. */
    async expectOrder(): Promise<void> {
      expect(duplicates(trace)).toEqual([]);
      expect(gateway.log()).toContain('"event":"replayed"');
      await expect.poll(() => openRuns(trace), { timeout: PARKED_MS + 5000 }).toEqual([]);
      await expect.poll(() => unsettledCalls(gateway.log()), { timeout: 5000 }).toEqual([]);
    },
  };
}

/** The simulator's own account: runs that are not over. */
function openRuns(trace: readonly TraceEntry[]): string[] {
  const over = new Set(trace.filter(({ kind }) => kind === "end" || kind === "reset").map(({ run }) => run));
  return trace.filter(({ kind, run }) => kind === "open" && !over.has(run)).map(({ run }) => run);
}

/** Results that came twice on one stream, and whatever else the simulator objects to. */
function duplicates(trace: readonly TraceEntry[]): string[] {
  const seen = new Set<string>();
  return trace.flatMap(({ kind, run, message }) => {
    if (kind === "violation") return [`violation: ${JSON.stringify(message)}`];
    if (kind !== "exec_client_message") return [];
    const { execClientMessage: exec } = message as { execClientMessage?: { id?: number; mcpResult?: object } };
    if (!exec?.mcpResult) return [];
    const key = `${run} ${exec.id ?? 0}`;
    if (seen.has(key)) return [`delivered twice: ${key}`];
    seen.add(key);
    return [];
  });
}

/** Calls that were asked and neither answered nor lost, or both. */
function unsettledCalls(log: string): string[] {
  const balance = new Map<string, number>();
  for (const line of log.split("\n")) {
    if (!line.includes('"msg":"tool call"')) continue;
    const { call, event } = JSON.parse(line) as { call: string; event: string };
    if (event === "replayed") continue;
    balance.set(call, (balance.get(call) ?? 0) + (event === "asked" ? 1 : -1));
  }
  return [...balance].filter(([, left]) => left !== 0).map(([call]) => call);
}
