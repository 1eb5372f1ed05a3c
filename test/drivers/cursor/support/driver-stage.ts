import { onTestFinished } from "vitest";
import type { Driver, Run } from "../../../../src/core/driver.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { Checkpoint, CheckpointStore } from "../../../../src/core/history/checkpoints.ts";
import { Secret } from "../../../../src/core/secret.ts";
import type { Message, Turn } from "../../../../src/core/turn.ts";
import { createFixedAccess } from "../../../../src/credentials/fixed-access.ts";
import { type CursorDriverOptions, createCursorDriver } from "../../../../src/drivers/cursor/driver.ts";
import type { CursorModels, ResolvedModel } from "../../../../src/drivers/cursor/models/model.ts";
import type { SimOptions, TraceEntry } from "../../../../src/sim/options.ts";
import { type Simulator, startSim } from "../../../../src/sim/server.ts";
import { createConnectionPool } from "../../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../../src/wire/http/h1-transport.ts";

export interface DriverStage {
  readonly driver: Driver;
  readonly sim: Simulator;
  readonly trace: TraceEntry[];
  readonly checkpoints: Map<string, Checkpoint>;
  readonly unknown: string[];
  readonly remembered: string[];
  /** The errors that came after an answer, with their requests. */
  readonly late: string[];
}

/** The driver in front of a simulated backend, with checkpoints that a test can look at. */
export async function setUpDriver(
  transport: "h2" | "h1",
  options: Partial<CursorDriverOptions> = {},
  sim: Partial<SimOptions> = {},
  model: Partial<ResolvedModel> = {},
): Promise<DriverStage> {
  const trace: TraceEntry[] = [];
  const backend = await startSim({ trace: (entry) => trace.push(entry), hostConfig: transport, ...sim });
  const transports = { h2: createConnectionPool(), h1: createHttp1Transport() };
  onTestFinished(() => backend.close());
  onTestFinished(() => {
    transports.h2.destroy();
    transports.h1.destroy();
  });
  const stored = new Map<string, Checkpoint>();
  const checkpoints: CheckpointStore = {
    find: (principal, key) => stored.get(`${principal} ${key}`),
    put: (principal, key, checkpoint) => stored.set(`${principal} ${key}`, checkpoint),
    forget: (principal, key) => stored.delete(`${principal} ${key}`),
  };
  const unknown: string[] = [];
  const remembered: string[] = [];
  const late: string[] = [];
  const driver = createCursorDriver({
    origin: backend.url,
    transports,
    transport: "auto",
    models: oneModel(model, remembered),
    checkpoints,
    access: createFixedAccess(new Secret("tester")),
    context: "refuse",
    onUnknown: (what) => unknown.push(what),
    onLateError: (requestId, { code }) => late.push(`${requestId} ${code}`),
    onToolLeftOut: () => {},
    ...options,
  });
  return { driver, sim: backend, trace, checkpoints: stored, unknown, remembered, late };
}

function oneModel(model: Partial<ResolvedModel>, remembered: string[]): CursorModels {
  const encoding = (kind: "variant" | "parameters") => ({
    kind,
    modelId: kind === "variant" ? "gpt-5.5-high" : "gpt-5.5",
    displayModelId: "gpt-5.5",
    displayName: "GPT",
    parameters: kind === "variant" ? [] : [{ id: "effort", value: "high" }],
    maxMode: false,
  });
  return {
    list: async () => [],
    find: () => Promise.reject(new Error("nobody asks")),
    resolve: async ({ id }) => ({
      baseId: "gpt-5.5",
      displayId: "gpt-5.5",
      encodings: [encoding("parameters"), encoding("variant")],
      contextTokens: 200_000,
      maxModeContextTokens: 1_000_000,
      supportsImages: true,
      ignoresEffort: false,
      effort: undefined,
      ...model,
      // Whatever the others read, this one reads more.
      ...(id === "big" ? { contextTokens: 1_000_000 } : {}),
    }),
    remember: (baseId, kind) => remembered.push(`${baseId} ${kind}`),
  };
}

export const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
export const assistant = (text: string): Message => ({ role: "assistant", content: [{ type: "text", text }] });

export const aTurn = (messages: readonly Message[], change: Partial<Turn> = {}): Turn => ({
  principal: { id: "p1", token: undefined },
  model: { id: "gpt-5.5", effort: "high" },
  system: "",
  messages,
  tools: [],
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
  ...change,
});

/** Reads a run to its end. */
export async function read(run: Run): Promise<{ events: TurnEvent[]; text: string; error: unknown }> {
  const events: TurnEvent[] = [];
  let error: unknown;
  try {
    for await (const batch of run) events.push(...batch);
  } catch (thrown) {
    error = thrown;
  }
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { events, text, error };
}

export const open = (driver: Driver, turn: Turn): Run => driver.open(turn, { requestId: "r1" });
