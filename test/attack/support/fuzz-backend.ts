import fc from "fast-check";
import { expect } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../../gateway/support/own-gateway.ts";
import { type Damage, startDamagingProxy } from "./damaging-proxy.ts";
import type { FuzzBudget } from "./seed.ts";

const PROMPTS = [
  "@sim think hm ;; say hello there",
  '@sim say one ;; call look {"at":"x"} ;; say {{result}}',
  '@sim exec read {"path":"/a"} ;; say done',
  "@sim say a ;; fail unavailable ERROR_OVERLOADED busy",
];

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom("flip", "flip", "flip", "drop", "repeat", "insert", "end", "reset"),
  offset: fc.nat(1500),
  value: fc.nat(255),
});

/** What is damaged so that the backend seems to think on is left by the client after this. */
const LEAVES_AFTER_MS = 1000;
const PATIENCE_MS = 15_000;

/** Whatever the backend's bytes are: an answer, or an error that is not ours; and nothing stays open. */
export async function fuzzBackend(budget: FuzzBudget): Promise<void> {
  const sim = await startSim({ answerTimeoutMs: 500 });
  const proxy = await startDamagingProxy(sim.url);
  const gateway = await openOwnGateway({ upstream: proxy.url, transport: "h1", limits: { parkedRuns: 0 } });
  let answered = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...PROMPTS),
        fc.array(damage, { maxLength: 3 }),
        fc.boolean(),
        async (content, damages, stream) => {
          proxy.damage(damages);
          const response = await fetch(`${gateway.url}/v1/chat/completions`, {
            method: "POST",
            headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
            body: JSON.stringify({ model: "gpt-5.5", messages: [{ role: "user", content }], stream, tools: TOOLS }),
            signal: AbortSignal.timeout(LEAVES_AFTER_MS),
          }).catch(leaves);
          const said = (await response?.text().catch(leaves)) ?? "";
          const shown = `${response?.status} ${said.slice(0, 1000)}`;
          expect(said, shown).not.toMatch(/internal_error|configuration_error|node:internal|\bat .+:\d+:\d+/);
          expect(response?.status ?? 499, shown).not.toBe(500);
          if (response?.status === 200 && said.includes('"finish_reason":"')) answered++;
          proxy.damage([]);
          const late = AbortSignal.timeout(PATIENCE_MS);
          await Promise.race([
            proxy.idle(),
            new Promise((_, reject) =>
              late.addEventListener("abort", () => reject(new Error(`a run stays open after: ${shown}`))),
            ),
          ]);
        },
      ),
      budget,
    );
    expect(answered, "some answers survive").toBeGreaterThan(0);
  } finally {
    await sim.close();
  }
}

function leaves(error: unknown): undefined {
  if (error instanceof Error && error.name === "TimeoutError") return undefined;
  throw error;
}

const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
