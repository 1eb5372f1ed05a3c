import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openDashboard, type Visitor } from "../dashboard/support/open-dashboard.ts";
import { openBrowser } from "./support/browser.ts";
import { signInTo } from "./support/sign-in-to.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

/** Lets a test lose the feed of a page, as if the network had broken the connection. */
const KEEP_SOURCE = `EventSource = class extends EventSource {
  constructor(address) {
    super(address);
    globalThis.feedOfTheTest = this;
  }
}`;

const SESSION = /\/ui\/api\/session$/;

/** Opens a page, signed in, whose connection `lose` breaks. Until `unroute`, the gateway cannot be reached for a new one. */
async function openPage(path: string): Promise<{ readonly page: Page; lose(): Promise<void> }> {
  const visitor: Visitor = await openDashboard();
  const { page } = await signInTo(visitor, browser);
  await page.addInitScript(KEEP_SOURCE);
  await page.goto(visitor.url + path);
  await page.getByText("Live", { exact: true }).waitFor();
  return {
    page,
    async lose() {
      await page.route(SESSION, (route) => route.abort());
      await page.evaluate("feedOfTheTest.dispatchEvent(new Event('error'))");
      const isTry = (request: { url(): string }) => SESSION.test(request.url());
      for (let tries = 0; tries < 2; tries++) await page.waitForEvent("requestfailed", isTry);
    },
  };
}

it("a page keeps what it shows while the connection is lost, and goes on when it is back", async () => {
  const { page, lose } = await openPage("/ui/keys");
  await page.getByLabel("Name: its user or purpose").fill("alice");
  await page.getByRole("button", { name: "Add the key" }).click();
  const made = page.getByRole("alert").filter({ hasText: "It is shown only now." });
  const key = (await made.locator("code").textContent()) ?? expect.fail("no key");
  await page.getByLabel("Name: its user or purpose").fill("half a na");
  await lose();
  await page.getByText("The connection to the gateway is lost.").waitFor();
  expect(await made.locator("code").textContent()).toBe(key);
  await page.unroute(SESSION);
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await made.locator("code").textContent()).toBe(key);
  expect(await page.getByLabel("Name: its user or purpose").inputValue()).toBe("half a na");
  await page.context().close();
});

it("a part that could not be loaded meanwhile is loaded when the connection is back", async () => {
  const { page, lose } = await openPage("/ui");
  await lose();
  const models = /\/ui\/api\/models$/;
  await page.route(models, (route) => route.abort());
  await page.getByRole("link", { name: "Models" }).click();
  await page.getByText("The gateway does not answer.").waitFor();
  await page.unroute(models);
  await page.unroute(SESSION);
  await page.getByRole("button", { name: "Probe auto" }).waitFor();
  await page.context().close();
});
