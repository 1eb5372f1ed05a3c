import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { findChromium } from "../../scripts/install-workbench.ts";
import { openBrowser, openPage } from "../ui/support/browser.ts";
import { openDashboard } from "./support/open-dashboard.ts";

const hasBrowser = (): boolean => {
  try {
    return existsSync(findChromium());
  } catch {
    return false;
  }
};

const TITLE = "every page opens in a browser without an error";

if (hasBrowser()) {
  it(TITLE, { timeout: 60_000 }, async () => {
    const { url, link } = await openDashboard();
    const browser = await openBrowser();
    try {
      const { page, problems } = await openPage(browser);
      const { path } = (await (await link()).json()) as { path: string };
      await page.goto(url + path);
      const pages = page.getByRole("navigation").getByRole("link");
      await pages.first().waitFor();
      const titles = await pages.allTextContents();
      expect(titles.length).toBeGreaterThanOrEqual(5);
      for (const title of titles) {
        await page.getByRole("navigation").getByRole("link", { name: title }).click();
        await page.getByRole("heading", { level: 1, name: title }).waitFor();
      }
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
} else {
  it.skip(`${TITLE} (no Chromium was found; npm run test:ui needs one, too)`, () => {});
}
