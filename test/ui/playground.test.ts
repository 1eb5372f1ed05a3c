import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openBrowser, seriousViolations } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";

const cleanups: (() => unknown)[] = [];
let browser: Browser;
let dashboard: LiveDashboard;

beforeAll(async () => {
  browser = await openBrowser();
  cleanups.push(() => browser.close());
  dashboard = await startDashboard((cleanup) => cleanups.push(cleanup));
});

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openPlayground() {
  const watched = await dashboard.signIn(browser);
  await watched.page.goto(`${dashboard.url}/ui/playground`);
  await watched.page.getByLabel("Message").waitFor();
  return watched;
}

async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

it.each(["chat", "responses", "messages", "gemini", "ollama"])("%s streams an answer with thinking", async (api) => {
  const { page, problems } = await openPlayground();
  await page.getByLabel("API").selectOption(api);
  await page.getByLabel("Model").fill("claude-4.5-sonnet");
  await ask(page, "@sim think a careful thought ;; say **bold** and `code`\\n\\n```js\\nconst one = 1;\\n```");
  const answer = page.getByRole("article").first();
  await answer.getByText("in all").waitFor();
  expect(await answer.locator("strong").textContent()).toBe("bold");
  expect(await answer.locator("code.inline").textContent()).toBe("code");
  expect(await answer.locator("pre").textContent()).toBe("const one = 1;");
  const thought = answer.getByText("a careful thought", { exact: false }).last();
  expect(await thought.isVisible()).toBe(false);
  await answer.getByText("Thinking").click();
  expect(await thought.isVisible()).toBe(true);
  expect(await page.getByRole("log", { name: "Events" }).locator("p").count()).toBeGreaterThan(3);
  // The next question brings the conversation.
  await ask(page, "@sim say {{history}}");
  await page.getByRole("article").nth(1).getByText("in all").waitFor();
  expect(await page.getByRole("article").nth(1).textContent()).toContain("bold");
  expect(await seriousViolations(page)).toEqual([]);
  expect(problems).toEqual([]);
  await page.context().close();
});

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

it.each(["chat", "responses", "messages", "gemini", "ollama"])("%s sends a dropped image", async (api) => {
  const { page, problems } = await openPlayground();
  await page.getByLabel("API").selectOption(api);
  await page.getByLabel("Model").fill("claude-4.5-sonnet");
  await page.evaluate(`{
    const bytes = Uint8Array.from(atob("${PIXEL}"), (one) => one.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
    document.querySelector(".composer").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }`);
  await page.getByRole("button", { name: "Remove image 1" }).waitFor();
  await ask(page, "@sim say images {{images}}");
  const answer = page.getByRole("article").first();
  await answer.getByText("in all").waitFor();
  expect(await answer.textContent()).toMatch(/images .*1/);
  expect(problems).toEqual([]);
  await page.context().close();
});

it("an answer is stopped, and a failed one shows the error", async () => {
  const { page } = await openPlayground();
  await ask(page, "@sim tokens 100000 5");
  await page.getByRole("article").locator(".markdown").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  await page.getByLabel("Model").fill("no-such-model");
  await ask(page, "hello");
  await page.getByRole("alert").filter({ hasText: "no-such-model" }).waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByText("Raw events").waitFor();
  expect(await page.getByRole("article").count()).toBe(0);
  await page.context().close();
});

it("a new conversation ends the answer that still runs", async () => {
  const { page } = await openPlayground();
  await ask(page, "@sim tokens 100000 5");
  await page.getByRole("article").locator(".markdown").waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await ask(page, "@sim say another one");
  await page.getByText("in all").waitFor();
  expect(await page.getByRole("article").count()).toBe(1);
  expect(await page.getByRole("article").textContent()).not.toContain("Stopped.");
  await page.context().close();
});

it("a conversation goes on while another page is shown", async () => {
  const { page, problems } = await openPlayground();
  await page.getByLabel("API").selectOption("messages");
  await page.getByLabel("System prompt").fill("Be brief.");
  await ask(page, "@sim tokens 100000 5");
  await page.getByRole("article").locator(".markdown").waitFor();
  await page.getByLabel("Message").fill("the next quest");
  await page.getByRole("link", { name: "Now" }).click();
  await page.getByRole("region", { name: "Requests under way" }).getByText("answering").waitFor();
  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByRole("article").locator(".markdown").waitFor();
  expect(await page.getByLabel("API").inputValue()).toBe("messages");
  expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");
  expect(await page.getByLabel("Message").inputValue()).toBe("the next quest");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it("copies a curl command that sends what the page has sent", async () => {
  const { page } = await openPlayground();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const copy = page.getByRole("button", { name: "Copy as curl" });
  expect(await copy.isDisabled()).toBe(true);
  await ask(page, "@sim say one");
  await page.getByText("in all").waitFor();
  await ask(page, "@sim say two");
  await page.getByRole("article").nth(1).getByText("in all").waitFor();
  await copy.click();
  await page.getByText("Copied", { exact: true }).waitFor();
  const command = await page.evaluate<string>("navigator.clipboard.readText()");
  const { stdout } = await promisify(execFile)("sh", ["-c", command], {
    env: { ...process.env, EXCURSOR_API_KEY: KEY },
  });
  expect(stdout).toContain('"content":"two"');
  const [, body = ""] = /<<'JSON'\n(.*)\nJSON\n$/s.exec(command) ?? [];
  const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly content: string }[] };
  expect(messages.map(({ content }) => content)).toEqual(["@sim say one", "one", "@sim say two"]);
  await page.context().close();
});

it("copies a curl command with a placeholder for the key", async () => {
  const { page } = await openPlayground();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByLabel("Message").fill("@sim say it's $HOME and `this`");
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(command).toMatch(/Bearer \$\{EXCURSOR_API_KEY:-\$\(excursor key\)\}"/);
  const body = /<<'JSON'\n(.*)\nJSON\n$/s.exec(command)?.[1] ?? "";
  expect(JSON.parse(body)).toMatchObject({ messages: [{ content: "@sim say it's $HOME and `this`" }] });
  await page.context().close();
});

it("scripts in prompts, answers, names of models and errors do nothing", async () => {
  const payload = '<img src=x onerror="document.title=`owned`"><script>document.title=`owned`</script>';
  const links = "[click](javascript:document.title=`owned`) ![x](https://elsewhere.example/x.png)";
  const { page, problems } = await openPlayground();
  await ask(page, `@sim think ${payload} ;; say ${payload} ${links}`);
  const answer = page.getByRole("article").first();
  await answer.getByText("in all").waitFor();
  expect(await answer.textContent()).toContain("<script>");
  expect(await answer.locator("img, script").count()).toBe(0);
  expect(await answer.locator('a[href^="javascript"]').count()).toBe(0);
  await page.getByLabel("Model").fill(payload);
  await ask(page, payload);
  await page.getByRole("article").nth(1).getByRole("alert").waitFor();
  expect(await page.title()).not.toContain("owned");
  // The browser itself reports the refused request.
  expect(problems.filter((text) => !text.includes("404"))).toEqual([]);
  await page.context().close();
});
