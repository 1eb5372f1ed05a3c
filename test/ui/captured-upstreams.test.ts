import OpenAI from "openai";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startAnthropicServer } from "../drivers/support/anthropic-server.ts";
import { startOpenAiServer } from "../drivers/support/openai-server.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";
import { openBrowser } from "./support/browser.ts";
import { startDashboard } from "./support/live-dashboard.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** A dashboard of a gateway that records, with models behind OpenAI's and Anthropic's APIs. */
async function start() {
  const openai = await startOpenAiServer([{ content: "by **OpenAI**" }], [{ content: "the next" }]);
  const anthropic = await startAnthropicServer({ blocks: [{ type: "text", text: "by **Anthropic**" }] });
  const models = {
    "local/*": { driver: "openai", baseURL: `${openai.url}/v1` },
    "claude/*": { driver: "anthropic", baseURL: anthropic.url },
  };
  const environment = {
    EXCURSOR_CAPTURE: "true",
    EXCURSOR_CURSOR_FACE: "true",
    EXCURSOR_CURSOR_PORT: "0",
    EXCURSOR_MODELS: JSON.stringify(models),
  };
  return startDashboard(await setUpGateway({}, environment));
}

/** Opens the only conversation, when it has so many turns. The record is written once a second. */
async function openConversation(page: Page, url: string, turns: number): Promise<void> {
  interface Listed {
    readonly conversations: readonly { readonly id: string; readonly turns: number }[];
  }
  const list = async () =>
    (await page.evaluate<Listed>(`fetch("/ui/api/conversations").then((reply) => reply.json())`)).conversations;
  await expect.poll(async () => (await list())[0]?.turns, { timeout: 20_000 }).toBe(turns);
  await page.goto(`${url}/ui/conversations/${(await list())[0]?.id}`);
}

const QUESTION = { role: "user" as const, content: "who answers?" };

it.each([
  ["local/llama-4", "/v1/chat/completions", "OpenAI"],
  ["claude/claude-sonnet-5", "/v1/messages", "Anthropic"],
])("a conversation with %s shows the upstream's wire", async (model, path, name) => {
  const { url, client, signIn } = await start();
  await client.chat.completions.create({ model, messages: [QUESTION] });
  const { page, problems } = await signIn(browser);
  await openConversation(page, url, 1);
  const turn = page.getByRole("article").first();
  await turn.getByRole("button", { name: "Messages" }).click();
  await turn.locator(".said strong", { hasText: name }).waitFor();
  await turn.getByRole("button", { name: "Client's wire" }).click();
  await turn.getByText("POST /v1/chat/completions · 200").waitFor();
  await turn.getByRole("button", { name: "Upstream's wire" }).click();
  await turn.getByText(`POST ${path} · 200`).waitFor();
  await turn.locator("summary", { hasText: "sent" }).click();
  await turn.getByText('"stream": true').waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it("a run of an own model inside Cursor shows its messages, what changed, and both wires", async () => {
  const { url, cursorUrl, signIn } = await start();
  // The driver of another gateway is the client.
  const cursor = await openOwnGateway({ upstream: cursorUrl, token: KEY });
  const { completions } = new OpenAI({ baseURL: `${cursor.url}/v1`, apiKey: KEY, maxRetries: 0 }).chat;
  const model = "excursor/local/llama-4";
  const first = await completions.create({ model, messages: [QUESTION] });
  const answer = { role: "assistant" as const, content: first.choices[0]?.message.content ?? "" };
  await completions.create({ model, messages: [QUESTION, answer, { role: "user", content: "and now?" }] });

  const { page, problems } = await signIn(browser);
  await openConversation(page, url, 2);
  const [second, opening] = [page.getByRole("article").nth(0), page.getByRole("article").nth(1)];
  await opening.getByRole("button", { name: "Messages" }).click();
  await opening.locator(".said", { hasText: "who answers?" }).first().waitFor();
  await opening.locator(".said strong", { hasText: "OpenAI" }).waitFor();
  await second.getByRole("button", { name: "Changes" }).click();
  await second.locator(".said.added", { hasText: "and now?" }).waitFor();
  await second.getByRole("button", { name: "Client's wire" }).click();
  await second.getByText("POST /agent.v1.AgentService/Run · 200").waitFor();
  await second.locator("summary", { hasText: "run_request" }).waitFor();
  await second.getByRole("button", { name: "Upstream's wire" }).click();
  await second.getByText("POST /v1/chat/completions · 200").waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});
