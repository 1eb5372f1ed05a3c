import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { SESSION_MS } from "../../src/dashboard/sessions.ts";
import { openDashboard } from "../dashboard/support/open-dashboard.ts";
import { openBrowser } from "./support/browser.ts";
import { signInTo } from "./support/sign-in-to.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

it("an expired session is refused, and the page says what to do (SEC-46)", async () => {
  const visitor = await openDashboard();
  const { page } = await signInTo(visitor, browser);
  const [before] = await page.context().cookies(`${visitor.url}/ui`);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + SESSION_MS);
  onTestFinished(() => void vi.restoreAllMocks());
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const [after] = await page.context().cookies(`${visitor.url}/ui`);
  // The browser still has the cookie; the gateway refuses it.
  expect(after?.value).toBe(before?.value);
  await page.goto(`${visitor.url}/ui/keys`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await page.evaluate("fetch('/ui/api/keys').then(({ status }) => status)")).toBe(401);
});

it("a cookie is of no use after signing out", async () => {
  const visitor = await openDashboard();
  const { page } = await signInTo(visitor, browser);
  const cookies = await page.context().cookies(`${visitor.url}/ui`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.context().addCookies(cookies);
  await page.goto(`${visitor.url}/ui`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

it("another site gets nothing with the browser's cookie, and cannot frame the page (SEC-46)", async () => {
  const visitor = await openDashboard();
  const { page } = await signInTo(visitor, browser);
  const site = createServer((_, response) => {
    response
      .writeHead(200, { "content-type": "text/html" })
      .end(`<!doctype html><title>other</title><iframe src="${visitor.url}/ui"></iframe>`);
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
  const tried = await page.evaluate<string[]>(`Promise.all([
    fetch("${visitor.url}/ui/api/keys", { credentials: "include" }),
    fetch("${visitor.url}/ui/api/demo", { method: "POST", credentials: "include", mode: "no-cors" }),
  ].map((sent) => sent.then((reply) => reply.type, () => "refused")))`);
  // An opaque reply cannot be read. The gateway has refused it, too.
  expect(tried).toEqual(["refused", "opaque"]);
  const frame = page.frames().find((one) => one.url().startsWith(visitor.url));
  expect(await frame?.locator("#app").count()).not.toBe(1);
  const feed = await (await visitor.get("/conversations")).json();
  expect(feed).toMatchObject({ conversations: [] });
  await page.context().close();
});

it("an issued key opens no dashboard", async () => {
  const visitor = await openDashboard();
  const { key } = (await (await visitor.send("POST", "/keys", { name: "alice", limits: [] })).json()) as {
    key: string;
  };
  expect((await visitor.link(key)).status).toBe(403);
  const { page } = await signInTo(visitor, browser);
  const headers = JSON.stringify({ authorization: `Bearer ${key}`, "content-type": "application/json" });
  const asAlice = await page.evaluate<number>(
    `fetch("/ui/links", { method: "POST", credentials: "omit", body: "{}", headers: ${headers} }).then(({ status }) => status)`,
  );
  expect(asAlice).toBe(403);
});
