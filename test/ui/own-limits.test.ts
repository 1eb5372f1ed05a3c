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

it("the limits of the gateway's own key are lifted on the page", async () => {
  const visitor = await openDashboard({ usage: { ownLimits: ["1000 tokens/day"] } });
  const ask = () => visitor.ask({ messages: [{ role: "user", content: "@sim usage 990 20 ;; say hello" }] });
  await (await ask()).json();
  expect((await ask()).status).toBe(429);
  const { page, problems } = await signInTo(visitor, browser);
  await page.goto(`${visitor.url}/ui/keys`);
  await page.getByRole("button", { name: "Lift the limits of the key owner" }).click();
  await expect.poll(() => page.getByRole("meter").getAttribute("aria-valuenow")).toBe("0");
  expect((await ask()).status).toBe(200);
  expect(problems).toEqual([]);
  await page.context().close();
});
