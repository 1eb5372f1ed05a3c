import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openBrowser, seriousViolations } from "./support/browser.ts";
import { startDashboard } from "./support/live-dashboard.ts";

/** Every file below a folder, with its content and the time of its last change. */
const snapshot = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, readFileSync(path, "utf8"), statSync(path).mtimeMs];
    });

it("Connect shows what would change, and writes nothing", async () => {
  const userHome = mkdtempSync(join(tmpdir(), "excursor-user-"));
  onTestFinished(() => rmSync(userHome, { recursive: true, force: true }));
  mkdirSync(join(userHome, ".claude"));
  writeFileSync(join(userHome, ".claude", "settings.json"), '{\n  "theme": "dark",\n  "apiKey": "sk-of-another"\n}\n');
  const before = snapshot(userHome);
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const dashboard = await startDashboard((cleanup) => onTestFinished(async () => void (await cleanup())), {
    environment: { HOME: userHome },
  });
  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/connect`);
  const clients = page.locator("details.tool").filter({ has: page.locator("summary strong") });
  await clients.first().waitFor();
  for (const client of await clients.all()) {
    await client.locator("summary").click();
    await client
      .getByText(/What connect would change|connect would change nothing/)
      .or(client.locator(".diff"))
      .waitFor();
  }
  const claude = clients.filter({ hasText: "Claude Code" }).first();
  await claude.getByText("not connected").waitFor();
  await claude.locator(".diff .added").filter({ hasText: dashboard.url }).first().waitFor();
  await claude.locator(".diff .same").filter({ hasText: '"theme": "dark"' }).waitFor();
  await claude.getByText("excursor connect claude-code").waitFor();
  const shown = await page.content();
  expect(shown).not.toContain(KEY);
  expect(shown).not.toContain("sk-of-another");
  await page.getByText("The Cursor face is off.").waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Check again" }).click();
  expect(snapshot(userHome)).toEqual(before);
  expect(problems).toEqual([]);
});
