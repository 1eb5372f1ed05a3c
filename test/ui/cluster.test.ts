import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasRedis, type RedisProcess, startRedis } from "../cluster/support/redis-process.ts";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { openBrowser, seriousViolations, type Watched } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";

const AGENT = fileURLToPath(new URL("../drivers/acp/support/scripted-agent.mjs", import.meta.url));
const MODEL = "gpt-5.5";
const ASKED = { role: "user", content: "@sim call look {} ;; say seen {{result}}" } as const;
const LOOK = { type: "function", function: { name: "look", parameters: { type: "object" } } } as const;

const cleanups: (() => unknown)[] = [];
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);
let redis: RedisProcess;
let a: LiveDashboard;
let b: LiveDashboard;
let watched: Watched;
let page: Page;

async function startNode(name: string): Promise<LiveDashboard> {
  const environment = { EXCURSOR_CLUSTER_REDIS: redis.url, EXCURSOR_CLUSTER_NODE: name };
  const stage = await setUpGateway({}, environment, defer);
  const agents = { mine: { command: process.execPath, args: [AGENT] } };
  writeFileSync(join(stage.home, "config.json"), JSON.stringify({ agents }), { mode: 0o600 });
  return startDashboard(stage);
}

/** Waits for the cells of a gateway's row: state, parked runs, forwarded turns, and turns answered for others. */
const untilRow = (name: string, ...cells: readonly string[]) =>
  expect
    .poll(
      () =>
        page
          .getByRole("row", { name: new RegExp(`^${name}\\b`) })
          .getByRole("cell")
          .allInnerTexts(),
      {
        // The figures of other gateways are read every ten seconds.
        timeout: 30_000,
      },
    )
    .toEqual([expect.stringContaining(name), ...cells]);

describe.skipIf(!hasRedis)("the page Now of a gateway in a cluster", () => {
  beforeAll(async () => {
    const browser: Browser = await openBrowser();
    defer(() => browser.close());
    redis = await startRedis(defer);
    [a, b] = [await startNode("node-a"), await startNode("node-b")];
    watched = await b.signIn(browser);
    ({ page } = watched);
  });

  afterAll(async () => {
    // One that is stopped waits for new turns, as the other is there.
    await Promise.all([a.stop("SIGKILL"), b.stop("SIGKILL")]);
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  it("lists the gateways with their parked runs and the turns that they forward", async () => {
    await page.getByRole("heading", { name: "Gateways of the cluster" }).waitFor();
    await page.getByText("node-b (this one)").waitFor();
    await untilRow("node-a", "up", "0", "0", "0");
    const { choices } = await a.client.chat.completions.create({ model: MODEL, messages: [ASKED], tools: [LOOK] });
    const said = choices[0]?.message;
    const callId = said?.tool_calls?.[0]?.id ?? "";
    await untilRow("node-a", "up", "1", "0", "0");
    const result = { role: "tool", tool_call_id: callId, content: "it" } as const;
    const messages = said ? [ASKED, said, result] : [];
    const answer = await b.client.chat.completions.create({ model: MODEL, messages, tools: [LOOK] });
    expect(answer.choices[0]?.message.content).toBe("seen it");
    await untilRow("node-b", "up", "0", "1", "0");
    await untilRow("node-a", "up", "0", "0", "1");
  });

  it("shows the question of an agent on another gateway, and passes the answer on", async () => {
    const prompt = page.getByRole("alertdialog", { name: "A question of mine" });
    const answer = a.client.chat.completions.create({
      model: "acp:mine",
      messages: [{ role: "user", content: "permission execute" }],
    });
    await prompt.getByText("mine asks on node-a").waitFor();
    await prompt.getByText("May I execute?").waitFor();
    await prompt.getByRole("button", { name: "Yes" }).click();
    expect((await answer).choices[0]?.message.content).toBe("yes");
    await prompt.waitFor({ state: "detached" });
  });

  it("says that the cluster is degraded while Redis is away, and no longer when it is back", async () => {
    const notice = page.getByRole("status").filter({ hasText: "The cluster's Redis does not reply." });
    expect(await notice.count()).toBe(0);
    await redis.kill();
    await notice.waitFor();
    // It still knows both.
    await untilRow("node-a", "up", "0", "0", "1");
    await untilRow("node-b", "up", "0", "1", "0");
    expect(await seriousViolations(page)).toEqual([]);
    await redis.restart();
    await notice.waitFor({ state: "detached" });
    expect(watched.problems).toEqual([]);
  });
});
