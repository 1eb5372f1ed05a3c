import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDashboard } from "../dashboard/support/open-dashboard.ts";
import { openBrowser } from "./support/browser.ts";
import { signInTo } from "./support/sign-in-to.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

it("a demo is brought to life by a button, and every page says what is missing before", async () => {
  const visitor = await openDashboard();
  const { page, problems } = await signInTo(visitor, browser);
  await page.getByText("Nothing is under way.").waitFor();
  await page.getByText("No run is parked.").waitFor();
  await page.getByText("No request has ended since the gateway started.").waitFor();
  for (const [path, text] of [
    ["conversations", "The usage record has no conversations yet."],
    ["keys", "There are no keys for other users."],
    ["tools", "No MCP server is configured."],
  ]) {
    await page.goto(`${visitor.url}/ui/${path}`);
    await page.getByText(text ?? "").waitFor();
  }
  await page.goto(`${visitor.url}/ui`);
  await page.getByRole("button", { name: "Play demo traffic" }).click();
  await page.getByRole("region", { name: "Requests under way" }).getByText("demo-chat").first().waitFor();
  await page.getByRole("region", { name: "Parked runs" }).getByText("run_tests").waitFor();
  await page.getByRole("region", { name: "Recent requests" }).getByText("429").waitFor();
  const charts = page.getByRole("img");
  // The chart of the requests has some, in each range.
  for (const range of ["Hour", "Day", "Month"]) {
    await page.getByRole("button", { name: range }).click();
    await page.getByRole("heading", { name: `The last ${range.toLowerCase()}` }).waitFor();
    await expect
      .poll(() => charts.first().getAttribute("aria-label"), { timeout: 20_000 })
      .toMatch(/^[1-9]\d* requests, \d+ failed$/);
    expect(await charts.count()).toBe(4);
  }
  expect(problems).toEqual([]);
  await page.context().close();
});

describe("a part that fails says why and what to do", () => {
  const PARTS = [
    ["", "series"],
    ["conversations", "conversations"],
    ["conversations/some", "conversations/some"],
    ["playground", "models"],
    ["models", "models"],
    ["connect", "clients"],
    ["tools", "tools"],
    ["tools", "agents"],
    ["keys", "keys"],
    ["health", "account"],
    ["health", "about"],
    ["health", "health"],
    ["health", "log"],
  ] as const;

  it("on every page", async () => {
    const visitor = await openDashboard();
    // So that there is a line of the log to be loaded.
    await (await visitor.ask({ messages: [{ role: "user", content: "@sim say hello" }] })).json();
    const { page } = await signInTo(visitor, browser);
    const body = { error: { code: "broken", message: "The disk is full.", hint: "Free some space." } };
    for (const [path, call] of PARTS) {
      const pattern = new RegExp(`/ui/api/${call}(?:\\?|$)`);
      await page.route(pattern, (route) => route.fulfill({ status: 500, json: body }));
      await page.goto(`${visitor.url}/ui${path === "" ? "" : `/${path}`}`);
      const notice = page.getByRole("alert").filter({ hasText: "The disk is full." });
      await notice
        .getByText("Free some space.")
        .waitFor({ timeout: 15_000 })
        .catch(() => expect.fail(`${path}: ${call}`));
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.unroute(pattern);
    }
    await page.context().close();
  });
});
