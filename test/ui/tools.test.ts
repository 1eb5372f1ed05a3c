import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startOAuthServer } from "../mcp/support/oauth-server.ts";
import { openBrowser, seriousViolations } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";
import { expectNoScript, PAYLOAD } from "./support/payload.ts";

const SERVER = fileURLToPath(new URL("../mcp/support/scripted-server.ts", import.meta.url));
const AGENT = fileURLToPath(new URL("../drivers/acp/support/scripted-agent.mjs", import.meta.url));

const cleanups: (() => unknown)[] = [];
let browser: Browser;
let dashboard: LiveDashboard;

const FIELDS = {
  text: { type: "string", description: "What to say" },
  count: { type: "integer", default: 2 },
  isLoud: { type: "boolean" },
  tone: { enum: ["kind", "strict"] },
  tags: { type: "array", items: { type: "string" } },
};

const TOOLS = [
  {
    name: "echo",
    description: "says it again",
    inputSchema: { type: "object", properties: FIELDS, required: ["text"] },
  },
  { name: "remember", description: "has another definition than before", inputSchema: { type: "object" } },
  { name: "ask", description: "asks the user", inputSchema: { type: "object" } },
  { name: PAYLOAD, description: PAYLOAD, inputSchema: { type: "object", properties: { [PAYLOAD]: {} } } },
];

beforeAll(async () => {
  browser = await openBrowser();
  cleanups.push(() => browser.close());
  const safe = await startOAuthServer();
  cleanups.push(() => safe.close());
  const srv = { command: process.execPath, args: [SERVER, JSON.stringify({ tools: TOOLS })] };
  dashboard = await startDashboard((cleanup) => cleanups.push(cleanup), {
    environment: { EXCURSOR_KEYCHAIN: "off" },
    files: {
      "mcp.json": { mcpServers: { srv, safe: { url: safe.url } } },
      "mcp-tools.json": { srv: { remember: "2:another" } },
      "config.json": {
        agents: {
          mine: { command: process.execPath, args: [AGENT] },
          broken: { command: process.execPath, args: [AGENT, "--exit-at-start"] },
        },
      },
    },
  });
});

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openTools(): Promise<{ readonly page: Page; readonly problems: string[] }> {
  const watched = await dashboard.signIn(browser);
  await watched.page.goto(`${dashboard.url}/ui/tools`);
  await watched.page.getByRole("button", { name: "Connect the servers" }).click();
  const server = watched.page.getByRole("region", { name: "MCP server srv" });
  await server.getByText("echo", { exact: true }).waitFor();
  return watched;
}

const askAgent = async (model: string, content: string): Promise<string | null | undefined> => {
  const { choices } = await dashboard.client.chat.completions.create({ model, messages: [{ role: "user", content }] });
  return choices[0]?.message.content;
};

describe("MCP servers", () => {
  it("a tool is called by a form made from its schema", async () => {
    const { page, problems } = await openTools();
    await page.getByText("says it again", { exact: true }).click();
    const field = (name: string) => page.getByLabel(new RegExp(`^${name}\\b`));
    const call = page.getByRole("button", { name: "Call the tool" });
    // The browser itself holds the form back until a required field is filled in.
    await call.click();
    expect(await page.getByLabel("Result").count()).toBe(0);
    await field("text").fill("hello");
    // What is left empty is not sent, so that the server's own defaults hold.
    await call.click();
    const first = await page.getByLabel("Result").locator("pre").textContent();
    expect(JSON.parse(first ?? "")).toEqual({ text: "hello", count: 2 });
    await field("count").fill("many");
    await call.click();
    await page.getByText("count: expected a number.").waitFor();
    await field("count").fill("3");
    await field("isLoud").check();
    await field("tone").selectOption("strict");
    await field("tags").fill('["a"');
    await call.click();
    await page.getByText("tags: expected JSON.").waitFor();
    await field("tags").fill('["a", "b"]');
    await call.click();
    const result = async () => JSON.parse((await page.getByLabel("Result").locator("pre").textContent()) ?? "");
    await expect.poll(result).toEqual({ text: "hello", count: 3, isLoud: true, tone: "strict", tags: ["a", "b"] });
    expect(await seriousViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("a changed tool is held back until its digest is approved (SEC-41)", async () => {
    const { page, problems } = await openTools();
    const tool = page.locator("details.tool").filter({ hasText: "has another definition than before" });
    await tool.getByText("changed, not offered").waitFor();
    await tool.locator("summary").first().click();
    await tool.getByText("Read its definition before you approve it.").waitFor();
    await tool.getByText("Schema").waitFor();
    expect(await tool.getByRole("button", { name: "Call the tool" }).count()).toBe(0);
    await tool.getByRole("button", { name: "Approve srv/remember" }).click();
    await tool.getByText("changed, not offered").waitFor({ state: "detached" });
    await tool.getByRole("button", { name: "Call the tool" }).click();
    await tool.getByLabel("Result").getByText("{}").waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("the user signs in to a server on its own page, and its tools are there", async () => {
    const { page, problems } = await openTools();
    const server = page.getByRole("region", { name: "MCP server safe" });
    await page.getByText("needs sign-in", { exact: true }).waitFor();
    await server.getByRole("button", { name: "Sign in to safe" }).click();
    await server.getByText("Waiting for you to sign in there").waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await server.getByRole("button", { name: "Cancel the sign-in to safe" }).click();
    await server.getByRole("button", { name: "Sign in to safe" }).click();
    const opened = page.context().waitForEvent("page");
    await server.getByRole("link", { name: "Open the sign-in page" }).click();
    const popup = await opened;
    await popup.getByText("You can close this window.").waitFor();
    expect(await popup.evaluate("opener")).toBeNull();
    await page.getByText("needs sign-in", { exact: true }).waitFor({ state: "detached" });
    await server.getByText("echo", { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

describe("the playground with the tools of the hub", () => {
  it("shows the calls, and asks the user what a tool asks", async () => {
    const { page, problems } = await openTools();
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByLabel("Offer the tools of the MCP servers").check();
    const ask = async (text: string) => {
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    };
    await ask('@sim call srv__echo {"text":"from the hub"} ;; say got {{result}}');
    await page.getByRole("article").getByText("got", { exact: false }).getByText("from the hub").waitFor();
    await page.getByRole("listitem").getByText("srv__echo: done after").waitFor();
    await ask("@sim call srv__ask {} ;; say got {{result}}");
    const question = page.getByRole("alertdialog", { name: "A question of srv" });
    await question.getByText("your name?").waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await question.getByLabel(/^name/).fill("Ada");
    await question.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("article").nth(1).getByText("Ada").waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

describe("agents", () => {
  it("are shown with the state of their programs", async () => {
    const { page, problems } = await openTools();
    const row = (name: string) => page.getByRole("row").filter({ hasText: `acp:${name}` });
    await row("broken").getByText("not started").waitFor();
    await askAgent("acp:mine", "say hello");
    await row("mine").getByText("running").waitFor();
    await askAgent("acp:broken", "say hello").catch(() => {});
    await row("broken").getByText("failed", { exact: true }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("ask on the page what they may do", async () => {
    const { page, problems } = await openTools();
    const answer = askAgent("acp:mine", "permission execute");
    const prompt = page.getByRole("alertdialog", { name: "A question of mine" });
    await prompt.getByText("May I execute?").waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await prompt.getByRole("button", { name: "Yes" }).click();
    expect(await answer).toBe("yes");
    await prompt.waitFor({ state: "detached" });
    // On every page, also in the middle of an answer of the playground.
    await page.goto(`${dashboard.url}/ui/playground`);
    await page.getByLabel("Model").fill("acp:mine");
    await page.getByLabel("Message").fill("permission delete");
    await page.getByRole("button", { name: "Send" }).click();
    await prompt.getByRole("button", { name: "No" }).click();
    await page.getByRole("article").getByText("no", { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

it("scripts in names, descriptions, results and questions do nothing", async () => {
  const { page, problems } = await openTools();
  const tool = page.locator("details.tool").filter({ hasText: "onerror" });
  await tool.locator("summary").first().click();
  await tool.getByRole("button", { name: "Call the tool" }).waitFor();
  await expectNoScript(page, problems);
  await tool.getByRole("button", { name: "Call the tool" }).click();
  await tool.getByLabel("Result").waitFor();
  const echo = page.locator("details.tool").filter({ hasText: "says it again" });
  await echo.locator("summary").first().click();
  await echo.getByLabel(/^text/).fill(PAYLOAD);
  await echo.getByRole("button", { name: "Call the tool" }).click();
  await echo.getByLabel("Result").getByText("onerror=").waitFor();
  await expectNoScript(page, problems);
  const answer = askAgent("acp:mine", `permission ${PAYLOAD}`);
  const prompt = page.getByRole("alertdialog");
  await prompt.getByText("onerror=").first().waitFor();
  await expectNoScript(page, problems);
  await prompt.getByRole("button", { name: "No" }).click();
  await answer;
  await page.context().close();
});
