import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { openBrowser, seriousViolations } from "./support/browser.ts";
import { type LiveDashboard, startDashboard } from "./support/live-dashboard.ts";

const cleanups: (() => unknown)[] = [];
let browser: Browser;
let dashboard: LiveDashboard;

beforeAll(async () => {
  browser = await openBrowser();
  cleanups.push(() => browser.close());
  const defer = (cleanup: () => unknown) => cleanups.push(cleanup);
  dashboard = await startDashboard(await setUpGateway({}, { EXCURSOR_CAPTURE: "true" }, defer));
});

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const HOSTILE = '<img src=x onerror="alert(1)"> **strong** `code` ada.lovelace@example.com';

it("SEC-46 a recorded conversation shows its messages, what changed, and both wires", async () => {
  const question = {
    role: "user" as const,
    content: [
      { type: "text" as const, text: `@sim say a **bold** answer\n\n${HOSTILE}` },
      { type: "image_url" as const, image_url: { url: PIXEL } },
    ],
  };
  const { completions } = dashboard.client.chat;
  const first = await completions.create({ model: "auto", messages: [question], user: "one" });
  const answer = { role: "assistant" as const, content: first.choices[0]?.message.content ?? "" };
  const messages = [question, answer, { role: "user" as const, content: "@sim say the second" }];
  const stream = await completions.create({ model: "auto", messages, stream: true, user: "two" });
  for await (const _ of stream);

  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/conversations`);
  // The record is written once a second.
  const read = <T>(path: string) => page.evaluate<T>(`fetch("/ui/api${path}").then((reply) => reply.json())`);
  interface Listed {
    readonly conversations: readonly { readonly id: string; readonly turns: number }[];
  }
  await expect
    .poll(async () => (await read<Listed>("/conversations")).conversations[0]?.turns, { timeout: 20_000 })
    .toBe(2);
  const [latest] = (await read<Listed>("/conversations")).conversations;
  await page.goto(`${dashboard.url}/ui/conversations/${latest?.id}`);
  const [second, opening] = [page.getByRole("article").nth(0), page.getByRole("article").nth(1)];

  await opening.getByRole("button", { name: "Messages" }).click();
  await opening.locator(".said strong", { hasText: "strong" }).waitFor();
  await opening.locator(".said code", { hasText: "code" }).waitFor();
  await opening.locator(".said", { hasText: "answer" }).last().locator("strong", { hasText: "bold" }).waitFor();
  expect(await opening.locator("img").getAttribute("src")).toBe(PIXEL);
  expect(await opening.textContent()).toContain("<img src=x");
  expect(await page.content()).not.toContain("ada.lovelace@example.com");

  await second.getByRole("button", { name: "Changes" }).click();
  await second.getByText("1 message as before, 0 removed, 2 added.").waitFor();
  await second.getByText('user: "one" → "two"').waitFor();
  await second.locator(".said.added", { hasText: "the second" }).first().waitFor();

  await second.getByRole("button", { name: "Client's wire" }).click();
  await second.getByText("/v1/chat/completions").waitFor();
  await second.getByRole("button", { name: "Upstream's wire" }).click();
  await second.getByText("/agent.v1.AgentService/Run").waitFor();
  await second.locator("summary", { hasText: "run_request" }).click();
  await second.getByText('"runRequest"').waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(problems).toEqual([]);
  await page.context().close();
});

it("the page Account and health compares the capture with our schema", async () => {
  await dashboard.client.chat.completions.create({
    model: "auto",
    messages: [{ role: "user", content: "@sim exec #1999 {} ;; say done" }],
  });
  const { page, problems } = await dashboard.signIn(browser);
  await page.goto(`${dashboard.url}/ui/health`);
  const button = page.getByRole("button", { name: "Check drift" });
  await button.click();
  await page.getByText(/1 unknown in \d+ messages of \d+ calls/).waitFor();
  await page.locator(".drift li", { hasText: "agent.v1.ExecServerMessage #1999" }).waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(problems).toEqual([]);
  await page.context().close();
});

it("SEC-47 captured messages are for the owner's session only", async () => {
  for (const path of ["/captured/x", "/captured-calls/1"]) {
    expect((await fetch(`${dashboard.url}/ui/api${path}`)).status).toBe(401);
  }
});
