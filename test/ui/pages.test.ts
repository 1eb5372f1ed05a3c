import OpenAI from "openai";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser, seriousViolations } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";
import { expectNoScript, PAYLOAD } from "./support/payload.ts";

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

const TOOLS = [
  { type: "function" as const, function: { name: "look", parameters: { type: "object", properties: {} } } },
];

const ask = (content: string, more: object = {}) =>
  dashboard.client.chat.completions.create({ model: "auto", messages: [{ role: "user", content }], ...more });

/** For what a page shows only after its next refresh, and for what the record writes once a second. */
const SLOW = { timeout: 20_000 };

/** The addresses of the pages, by their titles. */
const PAGES = [
  ["Now", "/ui"],
  ["Conversations", "/ui/conversations"],
  ["Playground", "/ui/playground"],
  ["Models", "/ui/models"],
  ["Connect", "/ui/connect"],
  ["Tools", "/ui/tools"],
  ["Keys and limits", "/ui/keys"],
  ["Account and health", "/ui/health"],
] as const;

describe.each(["light", "dark"] as const)("in the %s theme", (colorScheme) => {
  it.each(PAGES)("the page %s loads without errors, blocked parts or serious violations", async (title, path) => {
    await ask("@sim say hello");
    const { page, problems } = await dashboard.signIn(browser, { colorScheme });
    await page.goto(dashboard.url + path);
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    // Charts follow the new size with the next frame.
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

it("pages are reached by links and by the keyboard, and the browser goes back", async () => {
  const { page, problems } = await dashboard.signIn(browser);
  await page.getByRole("link", { name: "Conversations" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Conversations" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/conversations");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  await page.getByRole("link", { name: "Skip to content" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
  await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it("a stream appears while it runs, and its end does, too", async () => {
  const { page } = await dashboard.signIn(browser);
  const stream = await ask("@sim tokens 100000 5", { stream: true });
  const row = page.getByRole("region", { name: "Requests under way" }).getByRole("row").nth(1);
  await row.getByText("answering").waitFor();
  expect(await row.textContent()).toContain("openai-js");
  (stream as unknown as { readonly controller: AbortController }).controller.abort();
  await page.getByText("Nothing is under way.").waitFor();
  await page.getByRole("region", { name: "Recent requests" }).getByText("left").first().waitFor();
  await page.context().close();
});

it("a parked run is dropped, and its follow-up is still answered", async () => {
  const { page } = await dashboard.signIn(browser);
  const question = { role: "user" as const, content: "@sim call look {} ;; say got {{result}}" };
  const first = await dashboard.client.chat.completions.create({ model: "auto", messages: [question], tools: TOOLS });
  const answer = first.choices[0]?.message;
  await page.getByRole("button", { name: "Drop the run that waits for look" }).click();
  await page.getByText("No run is parked.").waitFor();
  const second = await dashboard.client.chat.completions.create({
    model: "auto",
    tools: TOOLS,
    messages: [
      question,
      ...(answer ? [answer] : []),
      { role: "tool", tool_call_id: answer?.tool_calls?.[0]?.id ?? "", content: "it" },
    ],
  });
  expect(second.choices[0]?.message.content).toBe("got it");
  await page.getByText("replayed").first().waitFor();
  await page.context().close();
});

it("a conversation's waterfall has the phases that the usage record has", async () => {
  const { page } = await dashboard.signIn(browser);
  const question = { role: "user" as const, content: "@sim call look {} ;; say done" };
  const first = await dashboard.client.chat.completions.create({ model: "auto", messages: [question], tools: TOOLS });
  const answer = first.choices[0]?.message;
  const result = { role: "tool" as const, tool_call_id: answer?.tool_calls?.[0]?.id ?? "", content: "it" };
  await dashboard.client.chat.completions.create({
    model: "auto",
    tools: TOOLS,
    messages: [question, ...(answer ? [answer] : []), result],
  });
  await page.getByRole("region", { name: "Recent requests" }).getByText("resumed").first().waitFor();
  interface Listed {
    readonly conversations: readonly { readonly id: string; readonly turns: number }[];
  }
  interface Turns {
    readonly turns: readonly { readonly phases: object; readonly toolCalls: readonly object[] }[];
  }
  const read = <T>(path: string) => page.evaluate<T>(`fetch("/ui/api${path}").then((reply) => reply.json())`);
  const latestTurns = async () => {
    const [latest] = (await read<Listed>("/conversations")).conversations;
    return { id: latest?.id, ...(await read<Turns>(`/conversations/${latest?.id}`)) };
  };
  // The record is written once a second.
  await expect.poll(async () => Object.keys((await latestTurns()).turns[0]?.phases ?? {}), SLOW).toContain("park");
  const { id, turns } = await latestTurns();
  await page.goto(`${dashboard.url}/ui/conversations/${id}`);
  const cards = page.getByRole("article");
  await cards.first().waitFor();
  expect(await cards.count()).toBe(2);
  for (const [index, turn] of turns.entries()) {
    const bars = await cards.nth(index).locator("[data-phase]").all();
    const shown = await Promise.all(bars.map((bar) => bar.getAttribute("data-phase")));
    expect(shown.toSorted()).toEqual(Object.keys(turn.phases).toSorted());
  }
  await cards.nth(1).getByRole("cell", { name: "look" }).waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await page.context().close();
});

it("a key is added, used by the openai SDK, shown with its use, and revoked", async () => {
  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/keys`);
  await page.getByLabel("Name: its user or purpose").fill("alice");
  await page.getByLabel("Limits, with commas").fill("1000 tokens/day, $1/conversation");
  await page.getByRole("button", { name: "Add the key" }).click();
  const made = page.getByRole("alert").filter({ hasText: "It is shown only now." });
  const key = (await made.locator("code").textContent()) ?? "";
  const client = new OpenAI({ baseURL: `${dashboard.url}/v1`, apiKey: key, maxRetries: 0 });
  const askAs = (content: string) =>
    client.chat.completions.create({ model: "gpt-5.5", messages: [{ role: "user", content }] });
  await askAs("@sim usage 900 50 ;; say hello");
  await made.getByRole("button", { name: "I have copied it" }).click();
  expect(await page.content()).not.toContain(key);
  const row = page.getByRole("row").filter({ hasText: "alice" });
  await expect.poll(() => row.getByRole("meter").getAttribute("aria-valuenow"), SLOW).toBe("95");
  await askAs("@sim usage 900 50 ;; say hello");
  await expect(askAs("@sim say hello")).rejects.toMatchObject({ status: 429 });
  await expect.poll(() => row.getByRole("meter").getAttribute("aria-valuenow"), SLOW).toBe("100");
  await row.getByRole("button", { name: "Revoke the key alice" }).click();
  await row.getByRole("button", { name: "Really revoke the key alice" }).click();
  await page.getByText("There are no keys for other users.").waitFor();
  await expect(askAs("@sim say hello")).rejects.toMatchObject({ status: 401 });
  await page.getByLabel("Name: its user or purpose").fill("a b");
  await page.getByRole("button", { name: "Add the key" }).click();
  await page.getByText("name: expected 1 to 64 letters").waitFor();
  // The browser itself reports the refused request.
  expect(problems.filter((text) => !text.includes("400 (Bad Request)"))).toEqual([]);
  await page.context().close();
});

it("a limit pauses a run, and it goes on when the limit is lifted on the page", async () => {
  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/keys`);
  await page.getByLabel("Name: its user or purpose").fill("bob");
  await page.getByLabel("Limits, with commas").fill("5000 tokens/day");
  await page.getByLabel("When a limit is reached").selectOption("pause");
  await page.getByRole("button", { name: "Add the key" }).click();
  const key = (await page.getByRole("alert").locator("code").textContent()) ?? "";
  const client = new OpenAI({ baseURL: `${dashboard.url}/v1`, apiKey: key, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "user", content: "@sim call look {} ;; say got {{result}}" },
  ];
  const step = () => client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
  const answer = (await step()).choices[0]?.message ?? expect.fail("no answer");
  messages.push(answer, { role: "tool", tool_call_id: answer.tool_calls?.[0]?.id ?? "", content: "it" });
  const content = "@sim usage 5000 1 ;; say hello";
  await client.chat.completions.create({ model: "gpt-5.5", messages: [{ role: "user", content }] });
  await expect(step()).rejects.toMatchObject({ status: 429 });
  await page.getByRole("link", { name: "Now" }).click();
  const row = page.getByRole("region", { name: "Parked runs" }).getByRole("row").filter({ hasText: "bob" });
  await row.getByRole("button", { name: "Lift the limits of the key bob" }).click();
  // A paused run goes on with the next request of its client.
  await row.getByText("lifted").waitFor();
  const { choices } = await step();
  expect(choices[0]?.message.content).toBe("got it");
  const recent = page.getByRole("region", { name: "Recent requests" });
  await recent.getByRole("row").filter({ hasText: "bob" }).first().getByText("resumed").waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it("a model is found and proved", async () => {
  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/models`);
  await page.getByLabel("Filter the models").fill("sonnet-4.5");
  await page.getByRole("button", { name: "Probe claude-4.5-sonnet" }).click();
  await page.getByText(/answered in .*, first token/).waitFor();
  expect(await page.getByRole("button", { name: "Probe" }).count()).toBe(1);
  await page.getByLabel("Filter the models").fill("nothing like it");
  await page.getByText("No model has this text").waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it("the checks are made again, and the log follows and is filtered", async () => {
  const { page } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/health`);
  const checks = page.getByRole("region", { name: "Checks" });
  await checks.getByText(/Node 2\d/).waitFor();
  const again = page.getByRole("button", { name: "Check again" });
  await again.click();
  await again.waitFor();
  await ask("hello", { model: "a-model-for-the-log" }).catch(() => {});
  const log = page.getByRole("region", { name: "Log lines" });
  await log.getByText("model=a-model-for-the-log").waitFor();
  await page.getByLabel("Filter the log").fill("a-model-for-the-log");
  await expect.poll(() => log.locator("p").count()).toBe(1);
  await page.getByLabel("Lowest level").selectOption("error");
  await page.getByText("No line has this text.").waitFor();
  await page.context().close();
});

it("a lost connection is shown, and found again by the session of the next gateway", async () => {
  const other = await startDashboard((cleanup) => cleanups.push(cleanup));
  const { page } = await other.signIn(browser);
  await page.getByText("Live", { exact: true }).waitFor();
  await other.stop();
  await page.getByText("The connection to the gateway is lost.").waitFor();
  await other.restart();
  // Sessions end with the gateway, and the page says what to do.
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(await other.link());
  await page.getByText("Live", { exact: true }).waitFor();
  await page.context().close();
});

it("scripts in prompts, names of models and tools, and errors do nothing", async () => {
  const { page, problems } = await dashboard.signIn(browser);
  await ask(PAYLOAD, { model: PAYLOAD }).catch(() => {});
  await ask(`@sim say ${PAYLOAD}`).catch(() => {});
  await ask(`@sim fail resource_exhausted ERROR_RATE_LIMITED ${PAYLOAD}`).catch(() => {});
  const tool = {
    type: "function",
    function: { name: "img_onerror", description: PAYLOAD, parameters: { type: "object" } },
  };
  await ask(`@sim call img_onerror {"at": ${JSON.stringify(PAYLOAD)}}`, { tools: [tool] });
  await page.getByText("onerror=").first().waitFor();
  await page.getByText("img_onerror").first().waitFor();
  for (const [, path] of PAGES) {
    await page.goto(dashboard.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await expectNoScript(page, problems);
  }
  // The log has it, and shows it as text.
  await page.goto(`${dashboard.url}/ui/health`);
  await page.getByRole("region", { name: "Log lines" }).getByText("onerror=").first().waitFor();
  await expectNoScript(page, problems);
  await page.goto(`${dashboard.url}/ui/conversations`);
  await page.getByText("onerror=").first().click();
  await page.getByRole("article").first().waitFor();
  await expectNoScript(page, problems);
  await page.context().close();
});

it("a second use of the link shows what to do (SEC-47)", async () => {
  const { page } = await dashboard.signIn(browser);
  const link = await dashboard.link();
  await page.goto(link);
  await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  await page.context().clearCookies();
  await page.goto(link);
  await page.getByRole("heading", { name: "This link no longer works" }).waitFor();
  await page.context().close();
});
