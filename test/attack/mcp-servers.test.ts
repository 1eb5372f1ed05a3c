import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, it } from "vitest";
import { textOf } from "../../src/core/turn.ts";
import { createHub } from "../../src/mcp/hub.ts";
import { HUB_LIMITS } from "../../src/mcp/limits.ts";
import { scripted } from "../mcp/support/stage.ts";
import { untilGone } from "../process/support/alive.ts";
import { fuzzBudget } from "./support/seed.ts";

const SCRIPT = fileURLToPath(new URL("support/hostile-mcp-server.ts", import.meta.url));

/** Properties give up here, whatever the machine has managed by then. */
const TIME_LIMIT_MS = 30_000;

const deep = (levels: number): object => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } });

const odd = fc.oneof(
  fc.constantFrom<unknown>(true, -1, "", "__proto__", [], {}, [[[]]], { toString: 1 }, "x".repeat(20_000)),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
);

const good = { name: "do", description: "does", inputSchema: { type: "object" } };

const tool = fc.oneof(
  odd,
  fc.constant(good),
  fc.record({ name: fc.oneof(fc.constant("do"), odd), description: odd, inputSchema: odd, title: odd, _meta: odd }),
  fc.record({ annotations: odd, outputSchema: odd, icons: odd }).map((others) => ({ ...good, ...others })),
  fc.constantFrom(5, 500, 2000).map((levels) => ({ ...good, inputSchema: { type: "object", ...deep(levels) } })),
  fc.constant({ ...good, inputSchema: { type: "object", enum: Array.from({ length: 5000 }, (_, at) => `v${at}`) } }),
);

/** `null` is never answered. A page that names another one for ever has to end, too. */
const list = fc.oneof(
  { weight: 6, arbitrary: fc.array(tool, { maxLength: 5 }).map((tools) => ({ tools: [...tools, good] })) },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant({ tools: [good], nextCursor: "again" }) },
  { weight: 1, arbitrary: fc.record({ tools: odd, nextCursor: odd }) },
);

const part = fc.oneof(
  odd,
  fc.record({
    type: fc.constantFrom("text", "image", "resource", "resource_link", "audio", "?"),
    text: odd,
    data: odd,
    uri: odd,
  }),
);

const result = fc.oneof(
  { weight: 4, arbitrary: fc.record({ content: fc.array(part, { maxLength: 4 }), isError: odd }) },
  { weight: 1, arbitrary: fc.record({ content: odd, structuredContent: odd }) },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.constant(null) },
);

it("a hostile MCP server costs only its own tools, and leaves nothing running", { timeout: 120_000 }, async () => {
  const script = fc.record({
    lists: fc.array(list, { minLength: 1, maxLength: 2 }),
    results: fc.array(result, { minLength: 1, maxLength: 2 }),
  });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(script, async (given) => {
      runs++;
      const text = JSON.stringify(given);
      // An argument of a program has an end.
      fc.pre(text.length < 120_000);
      const hostile = scripted({}, { name: "bad", args: [SCRIPT, text] });
      const hub = createHub({
        servers: [hostile, scripted({}, { name: "good" })],
        environment: process.env,
        limits: { ...HUB_LIMITS, connectMs: 5000, callMs: 1000, backOffMs: 50 },
        patienceMs: 5000,
      });
      const { signal } = new AbortController();
      const principal = { id: "owner", token: undefined };
      let pids: number[] = [];
      try {
        await hub.open(principal, signal);
        const box = await hub.open(principal, signal);
        expect(JSON.stringify(box.tools).length).toBeGreaterThan(0);
        const own = box.tools.filter(({ name }) => name.startsWith("bad__")).slice(0, 3);
        for (const { name } of own) {
          const answer = await box.call(name, {}, { signal });
          expect(textOf(answer.content)).not.toContain("Excursor failed with an internal error");
        }
        const answer = await box.call("good__echo", { a: 1 }, { signal });
        expect([answer.isError, textOf(answer.content)]).toEqual([false, '{"a":1}']);
        const stderr = hub.connections.find(({ name }) => name === "bad")?.stderr ?? "";
        pids = [...stderr.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
        expect(pids).not.toEqual([]);
      } finally {
        await hub.close();
      }
      for (const pid of pids) await untilGone(pid);
    }),
    { ...fuzzBudget(1000, TIME_LIMIT_MS), endOnFailure: true },
  );
  expect(runs).toBeGreaterThan(5);
});
