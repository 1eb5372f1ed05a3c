import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway } from "../../../src/app/open-gateway.ts";
import type { HealthLine } from "../../../src/dashboard/messages.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";

/** A browser's view of the API: cookie and token are kept between requests. */
export interface Visitor {
  readonly url: string;
  readonly home: string;
  readonly cookie: string;
  readonly csrf: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  send(method: "POST" | "DELETE", path: string, body?: object, headers?: Record<string, string>): Promise<Response>;
  /** Sends a request to the gateway with its own key. */
  ask(body: object, init?: { readonly key?: string; readonly signal?: AbortSignal }): Promise<Response>;
  /** Asks for a link with this key. */
  link(key?: string): Promise<Response>;
  /** Stops the gateway. Answers may finish as long as the settings allow, unless `graceMs` says otherwise. */
  close(graceMs?: number): Promise<void>;
}

/** Opens a gateway in this process with the simulator behind it, and signs in to its dashboard. */
export async function openDashboard(
  settings: object = {},
  examine = async (): Promise<HealthLine[]> => [],
): Promise<Visitor> {
  const home = mkdtempSync(join(tmpdir(), "excursor-dashboard-"));
  writeFileSync(join(home, "config.json"), JSON.stringify({ port: 0, key: KEY, ...settings }), { mode: 0o600 });
  const loaded = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } });
  const gateway = await openGateway(loaded, {
    isDemo: true,
    writeLog: () => {},
    dashboard: { version: "1.2.3", examine },
  });
  onTestFinished(async () => {
    await gateway.close(0);
    rmSync(home, { recursive: true, force: true });
  });
  return visit({ url: gateway.url, home, close: (graceMs) => gateway.close(graceMs) });
}

/** Signs in to the dashboard of a gateway. */
async function visit({ url, home, close }: Pick<Visitor, "url" | "home" | "close">): Promise<Visitor> {
  const post = (path: string, body: object, key: string, signal?: AbortSignal) =>
    fetch(url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const link = (key = KEY) => post("/ui/links", {}, key);
  const { path } = (await (await link()).json()) as { path: string };
  const opened = await fetch(url + path, { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  const get = (to: string, headers = {}) => fetch(`${url}/ui/api${to}`, { headers: { cookie, ...headers } });
  const { csrf } = (await (await get("/session")).json()) as { csrf: string };
  return {
    url,
    home,
    cookie,
    csrf,
    get,
    send: (method, to, body, headers = {}) =>
      fetch(`${url}/ui/api${to}`, {
        method,
        headers: { cookie, "x-excursor-csrf": csrf, "content-type": "application/json", ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    ask: (body, { key = KEY, signal } = {}) => post("/v1/chat/completions", { model: "auto", ...body }, key, signal),
    link,
    close,
  };
}
