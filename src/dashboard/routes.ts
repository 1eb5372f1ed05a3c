import type { Limits } from "../config/limits.ts";
import type { JsonValue } from "../core/turn.ts";
import { OWNER } from "../server/gate/keys/caller-keys.ts";
import type { GatewayExchange } from "../server/gateway-exchange.ts";
import type { ServerView } from "../server/live-requests.ts";
import { readJson } from "../server/read-json.ts";
import type { Route } from "../server/routes/route.ts";
import { type Call, MAX_REPLY_BYTES } from "./call.ts";
import { DASHBOARD_ERRORS } from "./error-body.ts";
import type { Feed } from "./feed.ts";
import { checkOwner, createGuard } from "./guard.ts";
import { LINK_MS, OneTimeLinks } from "./one-time-links.ts";
import type { SendPage } from "./page-route.ts";
import { removeCookie, writeCookie } from "./session-cookie.ts";
import type { Sessions } from "./sessions.ts";

export interface DashboardParts {
  readonly sessions: Sessions;
  readonly links?: OneTimeLinks;
  readonly feed: Feed;
  readonly sendPage: SendPage;
  readonly calls: readonly Call[];
  readonly server: Pick<ServerView, "serveAsOwner">;
  readonly limits: Limits;
  readonly facts: { readonly version: string; readonly isDemo: boolean };
}

const PLAY = "/ui/api/play";

const NO_STORE = { "cache-control": "no-store", "cross-origin-resource-policy": "same-origin" };

/**
 * Returns the routes of the dashboard. The page itself is open, since it holds nothing of the user. The API needs the
 * gateway's own key or the session of a browser, and a session begins with a one-time link, which only that key can create.
 */
export function dashboardRoutes(parts: DashboardParts): readonly Route[] {
  const { sessions, links = new OneTimeLinks(), feed, sendPage, calls, server, limits, facts } = parts;
  const { checkVisitor, checkSession } = createGuard(sessions);
  /** The gate lets these pass without a key; each of them checks its visitor itself. */
  const open = (route: Pick<Route, "method" | "path" | "handle">): Route => ({
    ...route,
    isOpen: true,
    isInternal: true,
    face: DASHBOARD_ERRORS,
  });
  const page = (path: string): Route =>
    open({ method: "GET", path, handle: (exchange, { file = "" }) => sendPage(exchange, file) });
  return [
    {
      method: "POST",
      path: "/ui/links",
      isInternal: true,
      face: DASHBOARD_ERRORS,
      async handle(exchange) {
        checkOwner(exchange.principal);
        await checkVisitor(exchange.request);
        exchange.reply(200, { path: `/ui/link/${links.create()}`, expiresInMs: LINK_MS }, NO_STORE);
      },
    },
    open({
      method: "GET",
      path: "/ui/link/{code}",
      async handle(exchange, { code = "" }) {
        const { request, response } = exchange;
        // A preview by HEAD must not use up the link.
        const isUsable = request.method === "GET" && links.has(code);
        if (isUsable) await checkVisitor(request);
        if (!isUsable || !links.redeem(code)) {
          await sendPage(exchange, "link", 403);
          return;
        }
        response.writeHead(303, {
          ...exchange.commonHeaders(),
          ...NO_STORE,
          "referrer-policy": "no-referrer",
          "set-cookie": writeCookie(request, sessions.begin()),
          location: "/ui",
        });
        response.end();
      },
    }),
    open({
      method: "GET",
      path: "/ui/api/session",
      async handle(exchange) {
        const session = await checkSession(exchange.request);
        const reply = { csrf: session.csrf.reveal(), hasFeed: feed.hasRoom(session), ...facts };
        exchange.reply(200, reply, NO_STORE);
      },
    }),
    open({
      method: "DELETE",
      path: "/ui/api/session",
      async handle(exchange) {
        sessions.end(await checkSession(exchange.request));
        exchange.reply(200, {}, { ...NO_STORE, "set-cookie": removeCookie(exchange.request) });
      },
    }),
    open({
      method: "GET",
      path: "/ui/api/feed",
      handle: async (exchange) => feed.open(exchange, await checkSession(exchange.request)),
    }),
    // The playground: the page uses the gateway's own routes, without the key.
    open({
      method: "POST",
      path: `${PLAY}/{path}`,
      async handle(exchange) {
        await checkSession(exchange.request);
        await server.serveAsOwner(exchange, PLAY);
      },
    }),
    ...calls.map((call) =>
      open({
        method: call.method,
        path: `/ui/api${call.path}`,
        async handle(exchange, path) {
          if (exchange.principal?.id === OWNER.id) await checkVisitor(exchange.request);
          else await checkSession(exchange.request);
          // The body is counted as the owner's.
          exchange.principal = OWNER;
          exchange.reply(200, await answer(call, exchange, path), NO_STORE);
        },
      }),
    ),
    // Longer than the pattern of pages, so that a wrong call does not get the page.
    open({ method: "GET", path: "/ui/api/{call}", handle: (exchange) => sendPage(exchange, "no.such.call") }),
    page("/ui"),
    page("/ui/{file}"),
  ];

  async function answer(call: Call, exchange: GatewayExchange, path: Readonly<Record<string, string>>) {
    const { query, signal } = exchange;
    const body =
      call.method === "POST" ? await readJson(exchange, { ...limits, bodyBytes: MAX_REPLY_BYTES }) : undefined;
    return (await call.handle({ path, query, body, signal })) as JsonValue;
  }
}
