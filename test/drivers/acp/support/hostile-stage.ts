import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Turn } from "../../../../src/core/turn.ts";
import type { AgentSettings } from "../../../../src/drivers/acp/agent-settings.ts";
import type { AgentLimits } from "../../../../src/drivers/acp/limits.ts";
import type { read } from "../../cursor/support/driver-stage.ts";
import { setUpAgent } from "./agent-stage.ts";

const HOSTILE_AGENT = fileURLToPath(new URL("hostile-agent.mjs", import.meta.url));

/** The driver in front of an agent that writes exactly the given lines. Silence soon counts as an end. */
export function setUpHostileAgent(
  answers: Readonly<Record<string, object>> = {},
  settings: Partial<AgentSettings> = {},
  limits: Partial<AgentLimits> = {},
) {
  const stage = setUpAgent({
    settings: { args: [HOSTILE_AGENT], environment: {}, ...settings },
    limits: { silentMs: 2000, cancelMs: 50, answerMs: 100, ...limits },
  });
  writeFileSync(join(stage.folder, "answers.json"), JSON.stringify(answers));
  return {
    ...stage,
    ask: (prompt: readonly string[] | "plain", change?: Partial<Turn>): ReturnType<typeof read> =>
      stage.ask(typeof prompt === "string" ? prompt : JSON.stringify(prompt), change),
    /** What the agent got as the answer to its own request with this id. */
    async sent(id: string): Promise<string> {
      for (;;) {
        const found = received(stage.folder).find((line) => line.includes(`"id":${JSON.stringify(id)}`));
        if (found !== undefined) return found;
        await sleep(10);
      }
    },
  };
}

function received(folder: string): string[] {
  try {
    return readFileSync(join(folder, "sent"), "utf8").split("\n");
  } catch {
    return [];
  }
}

/** One update of the session, as the agent would write it. */
export const update = (given: object): string =>
  JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "$session", update: given } });
