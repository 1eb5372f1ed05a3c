import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Changes the title of a page that takes it for HTML. */
export const PAYLOAD = '<img src=x onerror="document.title=`owned`"><script>document.title=`owned`</script>';

/** Checks that no payload has become an element or has run, and that the policy had nothing to block. */
export async function expectNoScript(page: Page, problems: readonly string[]): Promise<void> {
  expect(await page.title()).not.toContain("owned");
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(problems).toEqual([]);
}
