import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "./install-workbench.ts";

/**
 * Takes the screenshots of the documentation from a demo, in both themes. With `--all`: of every page, and also at the
 * width of a phone, with a capture on, so that a conversation shows its messages. Usage: node scripts/take-screenshots.ts [FOLDER] [--all]
 */

const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? join("docs", "assets");
const TAKES_ALL = process.argv.includes("--all");
const ROUTES = TAKES_ALL
  ? ["", "conversations", "conversations/", "playground", "models", "connect", "tools", "keys", "health"]
  : ["", "playground"];
/** The names of those pictures that are not called like their page. */
const NAMES: Readonly<Record<string, string>> = { "": "now", "conversations/": "conversation" };
const KEY = "demo-key-for-screenshots";
const MIX_MS = 9000;

const home = mkdtempSync(join(tmpdir(), "excursor-shots-"));
const environment = { ...process.env, EXCURSOR_HOME: home, HOME: home, EXCURSOR_KEY: KEY };
const SERVE = ["bin/excursor.js", "serve", "--demo", "--port", "0", "--json", ...(TAKES_ALL ? ["--capture"] : [])];
const gateway = spawn(process.execPath, SERVE, {
  env: environment,
  stdio: ["ignore", "pipe", "ignore"],
});
let browser: Browser | undefined;
try {
  const [line] = (await once(createInterface({ input: gateway.stdout }), "line")) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme });
    const page = await context.newPage();
    await page.goto(await link(url));
    await page.getByRole("button", { name: "Play demo traffic" }).click();
    await page.waitForTimeout(MIX_MS);
    for (const route of ROUTES) await shoot(page, url, route, colorScheme);
    await context.close();
  }
} finally {
  await browser?.close();
  gateway.kill();
  rmSync(home, { recursive: true, force: true });
}

async function link(url: string): Promise<string> {
  const args = ["bin/excursor.js", "ui", "--no-open", "--url", url, "--key", KEY];
  return (await promisify(execFile)(process.execPath, args, { env: environment })).stdout.trim();
}

async function shoot(page: Page, url: string, route: string, theme: string): Promise<void> {
  await page.goto(`${url}/ui${route === "" ? "" : `/${route}`}`);
  await page.getByText("Live", { exact: true }).waitFor();
  if (route === "playground") {
    const text =
      "@sim think The user wants a short answer. ;; say **Streams** need back-pressure:\\n\\n- the reader sets the pace\\n- the writer waits for `drain`\\n\\n```js\\nif (!stream.write(chunk)) await once(stream, 'drain');\\n```";
    await page.getByLabel("Message").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("in all").waitFor();
  }
  if (route === "conversations/") {
    await page.goto(`${url}/ui/conversations`);
    await page
      .getByRole("link", { name: /demo-agent .* 2 / })
      .first()
      .click();
    await page.getByText("All conversations").waitFor();
  }
  if (route === "connect") await page.getByText("Claude Code").first().click();
  await page.waitForTimeout(700);
  const name = join(folder, `dashboard-${NAMES[route] ?? route}-${theme}`);
  await page.screenshot({ path: `${name}.png` });
  if (!TAKES_ALL) return;
  const usual = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  if (route !== "playground") await page.reload();
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${name}-phone.png`, fullPage: true });
  if (usual) await page.setViewportSize(usual);
}
