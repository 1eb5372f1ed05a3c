import type { IncomingHttpHeaders } from "node:http";
import type { Face } from "../faces/face.ts";
import type { Exchange } from "./exchange.ts";

/** One thing that can be asked for. Whatever is in no route does not exist. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Exact; an `{id}` at its end stands for one or more segments. */
  readonly path: string;
  /** Whether it is for this request, where another route has the same path. Absent: for all that no other one is for. */
  readonly isFor?: (headers: IncomingHttpHeaders) => boolean;
  /** Whether anybody may ask. Everything else needs a key. */
  readonly isOpen?: boolean;
  /** In whose words its errors are put. */
  readonly face: Face;
  handle(exchange: Exchange, id: string): Promise<void> | void;
}

export type RouteMatch =
  | { readonly type: "found"; readonly route: Route; readonly id: string }
  | { readonly type: "wrong-method"; readonly allow: string; readonly face: Face }
  | { readonly type: "none" };

/** Paths are compared as they came, never decoded or tidied: what is spelt differently is something else. */
export function findRoute(
  routes: readonly Route[],
  method: string,
  target: string,
  headers: IncomingHttpHeaders,
): RouteMatch {
  const path = target.split("?", 1)[0] ?? "";
  const wanted = method === "HEAD" ? "GET" : method;
  const matches = routes.flatMap((route) => {
    const id = matchPath(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
  const found = choose(
    matches.filter(({ route }) => route.method === wanted),
    headers,
  );
  if (found) return { type: "found", ...found };
  const other = choose(matches, headers);
  if (!other) return { type: "none" };
  const methods = new Set(matches.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : route.method)));
  return { type: "wrong-method", allow: [...methods].join(", "), face: other.route.face };
}

function choose<T extends { readonly route: Route }>(matches: readonly T[], headers: IncomingHttpHeaders) {
  return matches.find(({ route }) => route.isFor?.(headers)) ?? matches.find(({ route }) => !route.isFor);
}

function matchPath(pattern: string, path: string): string | undefined {
  if (!pattern.endsWith("{id}")) return pattern === path ? "" : undefined;
  const prefix = pattern.slice(0, -"{id}".length);
  if (!path.startsWith(prefix) || path.length === prefix.length) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}
