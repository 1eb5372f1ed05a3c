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

it("the list is loaded again by a button, after a failure and with new conversations", async () => {
  const visitor = await openDashboard();
  const ask = async (word: string) =>
    (await visitor.ask({ messages: [{ role: "user", content: `@sim say ${word}` }] })).json();
  const { page } = await signInTo(visitor, browser);
  const list = /\/ui\/api\/conversations$/;
  await page.route(list, (route) => route.abort());
  await page.goto(`${visitor.url}/ui/conversations`);
  await page.getByText("The gateway does not answer.").waitFor();
  await page.unroute(list);
  const again = page.getByRole("button", { name: "Load again" });
  const rows = page.getByRole("region", { name: "Conversations" }).getByRole("link");
  for (const [index, word] of ["one", "two"].entries()) {
    await ask(word);
    // The record is written once a second.
    await expect
      .poll(
        async () => {
          await again.click();
          return rows.count();
        },
        { timeout: 20_000 },
      )
      .toBe(index + 1);
  }
  expect(await page.getByText("The gateway does not answer.").count()).toBe(0);
  await page.context().close();
});

it("earlier turns are shown once, however often they are asked for", async () => {
  const visitor = await openDashboard();
  const messages: object[] = [];
  for (let turn = 0; turn < 17; turn++) {
    messages.push({ role: "user", content: "@sim say hello" });
    await (await visitor.ask({ messages })).json();
    messages.push({ role: "assistant", content: "hello" });
  }
  const { page } = await signInTo(visitor, browser);
  await page.goto(`${visitor.url}/ui`);
  const latest = page.getByRole("region", { name: "Recent requests" }).getByRole("link").first();
  const turns = page.getByRole("article");
  await expect
    .poll(
      async () => {
        await page.goto(`${visitor.url}/ui`);
        await latest.click();
        return page.getByRole("button", { name: "Show earlier turns" }).count();
      },
      { timeout: 20_000, interval: 1000 },
    )
    .toBe(1);
  await page.getByRole("button", { name: "Show earlier turns" }).dblclick();
  await expect.poll(() => turns.count()).toBeGreaterThan(15);
  await page.getByRole("button", { name: "Show earlier turns" }).waitFor({ state: "detached" });
  expect(await turns.count()).toBe(17);
  await page.context().close();
});
