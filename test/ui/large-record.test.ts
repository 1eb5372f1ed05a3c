import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { openBrowser } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";

const CONVERSATIONS = 100_000;
const cleanups: (() => unknown)[] = [];
let browser: Browser;
let dashboard: LiveDashboard;

beforeAll(async () => {
  browser = await openBrowser();
  cleanups.push(() => browser.close());
  const stage = await setUpGateway({}, {}, (cleanup) => cleanups.push(cleanup));
  const connection = await openUsageDatabase(join(stage.home, "usage.db"), () => {});
  connection.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${CONVERSATIONS})
    INSERT INTO request (at, id, principal, key_name, client, face, route, model, driver, conversation, status, ms, phases,
      input, output, cached) SELECT (${Date.now()} - ${CONVERSATIONS} + i) * 1024, 'r' || i, 'owner', 'owner', 'claude-code',
      'openai-chat', '/v1/chat/completions', 'model-' || i, 'cursor', 'conversation-' || i, 200, 10, '1,1,,,,,1,,', 10, 5, 0
      FROM n`);
  connection.close();
  dashboard = await startDashboard(stage);
});

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it("100,000 conversations scroll: few rows are drawn, and no request exceeds 200 KB", {
  timeout: 600_000,
}, async () => {
  const { page, problems } = await dashboard.signIn(browser);
  const sizes: number[] = [];
  page.on("response", async (response) => {
    if (response.url().includes("/ui/api/conversations")) sizes.push((await response.body()).length);
  });
  await page.goto(`${dashboard.url}/ui/conversations`);
  const list = page.getByRole("region", { name: "Conversations" });
  await list.getByText(`model-${CONVERSATIONS}`, { exact: true }).waitFor();
  const last = list.getByText("model-1", { exact: true });
  // Each scroll to the end loads the next page.
  while (!(await last.isVisible())) {
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect(await list.locator("a").count()).toBeLessThan(120);
  }
  expect(await page.getByRole("heading", { level: 1 }).locator("..").textContent()).toContain("100,000");
  expect(sizes.length).toBe(Math.ceil(CONVERSATIONS / 300));
  expect(Math.max(...sizes)).toBeLessThan(200_000);
  expect(problems).toEqual([]);
  await page.context().close();
});
