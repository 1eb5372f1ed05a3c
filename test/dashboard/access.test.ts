import { execFile } from "node:child_process";
import { request } from "node:http";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { addKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { canRunAs } from "../support/other-user.ts";
import { openDashboard } from "./support/open-dashboard.ts";

/** Another user of this machine. */
const STRANGER = 65_533;

const codeOf = async (response: Response): Promise<string> => {
  const { error } = (await response.json()) as { error: { code: string } };
  return error.code;
};

/** Sends headers that fetch does not let a program set. */
const rawStatus = (url: string, headers: Record<string, string>, method = "GET"): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

describe("the dashboard's door (SEC-46, SEC-47)", () => {
  it("opens by a link that works once, with a cookie that scripts and other sites cannot use", async () => {
    const { url, link } = await openDashboard();
    const { path, expiresInMs } = (await (await link()).json()) as { path: string; expiresInMs: number };
    expect(expiresInMs).toBe(60_000);
    const first = await fetch(url + path, { redirect: "manual" });
    expect([first.status, first.headers.get("location")]).toEqual([303, "/ui"]);
    const cookie = first.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^excursor_ui_\d+=[\w-]{43}; Path=\/ui; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const second = await fetch(url + path, { redirect: "manual" });
    expect([second.status, second.headers.get("set-cookie")]).toEqual([403, null]);
    expect(second.headers.get("content-type")).toMatch(/^text\/html/);
  });

  it("is not opened by a preview of the link", async () => {
    const { url, link } = await openDashboard();
    const { path } = (await (await link()).json()) as { path: string };
    expect((await fetch(url + path, { method: "HEAD", redirect: "manual" })).status).toBe(403);
    expect((await fetch(url + path, { redirect: "manual" })).status).toBe(303);
  });

  it("gives links to the gateway's own key alone", async () => {
    const { link, home } = await openDashboard();
    const issued = await addKey(home, "somebody", { account: undefined, limits: {} });
    const refused = await link(issued.reveal());
    expect([refused.status, await codeOf(refused)]).toEqual([403, "owner_only"]);
    expect((await link("wrong-key")).status).toBe(401);
  });

  it("lets nobody read without a session, whatever key they send", async () => {
    const { url, home } = await openDashboard();
    const issued = await addKey(home, "somebody", { account: undefined, limits: {} });
    for (const headers of [{}, { authorization: `Bearer ${issued.reveal()}` }, { cookie: "excursor_ui_1=x" }]) {
      for (const path of ["/session", "/feed", "/conversations", "/series?range=hour"]) {
        const refused = await fetch(`${url}/ui/api${path}`, { headers });
        expect([path, refused.status, await codeOf(refused)]).toEqual([path, 401, "no_session"]);
      }
    }
  });

  it("changes nothing without the session's token", async () => {
    const { send } = await openDashboard();
    for (const headers of [{ "x-excursor-csrf": "" }, { "x-excursor-csrf": "x".repeat(43) }]) {
      const refused = await send("DELETE", "/runs/none", undefined, headers);
      expect([refused.status, await codeOf(refused)]).toEqual([403, "wrong_csrf_token"]);
    }
    const allowed = await send("DELETE", "/runs/none");
    expect([allowed.status, await codeOf(allowed)]).toEqual([404, "unknown_run"]);
  });

  it("refuses other origins, also those that the settings allow, and other hosts (SEC-02, SEC-06)", async () => {
    const { url, cookie, csrf } = await openDashboard({ origins: ["http://app.example"] });
    const host = new URL(url).host;
    const statusWith = (headers: Record<string, string>) => rawStatus(`${url}/ui/api/session`, { cookie, ...headers });
    expect(await statusWith({ origin: "http://app.example" })).toBe(403);
    expect(await statusWith({ origin: "http://evil.example" })).toBe(403);
    expect(await statusWith({ origin: "null" })).toBe(403);
    expect(await statusWith({ "sec-fetch-site": "same-site" })).toBe(403);
    expect(await statusWith({ host: "evil.example" })).toBe(421);
    expect(await statusWith({ origin: `http://${host}` })).toBe(200);
    const other = { cookie, "x-excursor-csrf": csrf, origin: "http://app.example" };
    expect(await rawStatus(`${url}/ui/api/session`, other, "DELETE")).toBe(403);
  });

  it.skipIf(!canRunAs(STRANGER)).each(["127.0.0.1", "::1"])(
    "refuses other users of this machine, at %s (SEC-45)",
    async (host) => {
      const { url, cookie, get } = await openDashboard({ host });
      expect((await get("/session")).status).toBe(200);
      const program = `fetch(${JSON.stringify(`${url}/ui/api/session`)}, { headers: { cookie: ${JSON.stringify(cookie)} } })
      .then(async (reply) => process.stdout.write(reply.status + " " + (await reply.json()).error.code))`;
      const { stdout } = await promisify(execFile)(process.execPath, ["-e", program], {
        uid: STRANGER,
        gid: STRANGER,
        cwd: "/",
      });
      expect(stdout).toBe("403 other_user");
    },
  );

  it("closes when the user signs out", async () => {
    const { send, get } = await openDashboard();
    expect((await send("DELETE", "/session")).headers.get("set-cookie")).toMatch(/Max-Age=0/);
    expect((await get("/session")).status).toBe(401);
  });
});

describe("the page's files", () => {
  it("have a strict policy, an ETag and gzip, and take at most 120 kB", async () => {
    const { url } = await openDashboard();
    const page = await fetch(`${url}/ui/conversations/some`);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toContain("unsafe");
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThanOrEqual(3);
    let bytes = 0;
    for (const path of files) {
      expect(path).toMatch(/^\/ui\//);
      const file = await fetch(url + path, { headers: { "accept-encoding": "gzip" } });
      expect([file.status, file.headers.get("content-encoding")]).toEqual([200, "gzip"]);
      bytes += Number(file.headers.get("content-length"));
      const again = await fetch(url + path, { headers: { "if-none-match": file.headers.get("etag") ?? "" } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
    expect(bytes).toBeLessThan(120_000);
  });

  it("are none but those of the bundle", async () => {
    const { url } = await openDashboard();
    for (const path of ["/ui/assets/none.js", "/ui/..%2fpackage.json", "/ui/api/none"]) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    }
  });
});
