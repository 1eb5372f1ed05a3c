import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openDashboard } from "../dashboard/support/open-dashboard.ts";
import { openBrowser } from "./support/browser.ts";
import { signInTo } from "./support/sign-in-to.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

// A browser has six connections to a gateway, and a page that follows it holds one of them.
it("more pages than the browser has connections work, and say if they do not follow the gateway", async () => {
  const visitor = await openDashboard();
  const { page: first } = await signInTo(visitor, browser);
  const context = first.context();
  for (let pages = 1; pages < 8; pages++) {
    const page = await context.newPage();
    await page.goto(`${visitor.url}/ui/models`);
    await page.getByRole("button", { name: "Probe auto" }).waitFor();
  }
  const last = context.pages().at(-1) ?? expect.fail("no page");
  await last.getByText("Too many pages of the dashboard are open.").waitFor();
  for (const page of context.pages().slice(0, -1)) await page.close();
  await last.getByText("Live", { exact: true }).waitFor();
  expect(await last.getByText("Too many pages of the dashboard are open.").count()).toBe(0);
  await context.close();
});
