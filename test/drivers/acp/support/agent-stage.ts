import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { TurnEvent } from "../../../../src/core/events.ts";
import { Secret } from "../../../../src/core/secret.ts";
import type { Message, Turn } from "../../../../src/core/turn.ts";
import type { AgentSettings } from "../../../../src/drivers/acp/agent-settings.ts";
import { type AcpDriver, createAcpDriver } from "../../../../src/drivers/acp/driver.ts";
import type { AgentLimits } from "../../../../src/drivers/acp/limits.ts";
import { createWatchdog } from "../../../../src/process/watchdog.ts";
import { aTurn, open, read, user } from "../../cursor/support/driver-stage.ts";

const SCRIPTED_AGENT = fileURLToPath(new URL("scripted-agent.mjs", import.meta.url));

export interface AgentStage {
  readonly driver: AcpDriver;
  readonly folder: string;
  readonly exits: { readonly error: unknown; readonly stderr: string }[];
  /** What the agent has noted so far. */
  notes(): string[];
  /** Waits until it has noted something that begins so. */
  noted(text: string): Promise<string>;
  ask(messages: readonly Message[] | string, change?: Partial<Turn>): ReturnType<typeof read>;
}

export interface StageOptions {
  /** What it is asked for by; `test` if unset. */
  readonly name?: string;
  readonly flags?: readonly string[];
  readonly settings?: Partial<AgentSettings>;
  readonly limits?: Partial<AgentLimits>;
}

/** The driver with one agent, `acp:test`, that does what the prompt says. */
export function setUpAgent({ name = "test", flags = [], settings = {}, limits = {} }: StageOptions = {}): AgentStage {
  const folder = mkdtempSync(join(tmpdir(), "excursor-acp-"));
  const notesFile = join(folder, "notes");
  const exits: AgentStage["exits"] = [];
  const agent: AgentSettings = {
    name,
    displayName: "Test",
    command: process.execPath,
    args: [SCRIPTED_AGENT, ...flags],
    environment: { NOTES: new Secret(notesFile) },
    folder,
    permissions: { allow: [], others: "ask" },
    ...settings,
  };
  const driver = createAcpDriver({
    agents: new Map([[name, agent]]),
    isAllowed: ({ id }) => id !== "stranger",
    watchdog: createWatchdog(),
    environment: { PATH: process.env["PATH"], HOME: folder, CANARY: "secret" },
    limits,
    onExit: (_, error, stderr) => exits.push({ error, stderr }),
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  onTestFinished(() => driver.close());
  const notes = () => {
    try {
      return readFileSync(notesFile, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  };
  return {
    driver,
    folder,
    exits,
    notes,
    async noted(text) {
      for (;;) {
        const found = notes().find((line) => line.startsWith(text));
        if (found !== undefined) return found;
        await sleep(10);
      }
    },
    ask: (messages, change) =>
      read(open(driver, agentTurn(typeof messages === "string" ? [user(messages)] : messages, change))),
  };
}

export const agentTurn = (messages: readonly Message[], change: Partial<Turn> = {}): Turn =>
  aTurn(messages, { model: { id: "acp:test", effort: undefined }, ...change });

export const thinkingIn = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === "thinking" ? event.text : "")).join("");

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(10);
}
