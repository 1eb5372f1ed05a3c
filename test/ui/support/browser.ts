import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "../../../scripts/install-workbench.ts";

/** What a page must never do. */
export interface Watched {
  readonly page: Page;
  /** Errors on the console, uncaught errors, and what the policy has blocked. */
  readonly problems: string[];
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });

/** Opens a page in a profile of its own. */
export async function openPage(
  browser: Browser,
  options: { readonly colorScheme?: "light" | "dark" } = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    problems.push(`${message.text()} at ${message.location().url}`);
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, problems };
}

interface AxeReport {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Returns the serious violations of accessibility rules, each with the elements. */
export async function seriousViolations(page: Page): Promise<readonly string[]> {
  // Run by the debugger, which the page's policy does not hold back.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeReport>("axe.run()");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
