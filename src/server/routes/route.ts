import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Face } from "../../faces/shared/face.ts";
import type { Exchange } from "../exchange.ts";

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

interface Candidate {
  readonly route: Route;
  /** What stands in the place of `{id}`. */
  readonly id: string;
}

const ID = "{id}";

/** Paths are compared as they came, never decoded or tidied: what is spelt differently is something else. */
export function createRouter(routes: readonly Route[]): (request: IncomingMessage) => RouteMatch {
  const exact = Map.groupBy(
    routes.map((route) => ({ route, id: "" })),
    ({ route }) => route.path,
  );
  const withId = routes.filter(({ path }) => path.endsWith(ID));
  return ({ method, url = "", headers }) => {
    const query = url.indexOf("?");
    const path = query === -1 ? url : url.slice(0, query);
    return choose(exact.get(path) ?? matchIds(withId, path), method === "HEAD" ? "GET" : method, headers);
  };
}

function choose(matches: readonly Candidate[], method: string | undefined, headers: IncomingHttpHeaders): RouteMatch {
  const found = preferred(matches, headers, method);
  if (found) return { type: "found", ...found };
  const other = preferred(matches, headers);
  if (!other) return { type: "none" };
  const methods = new Set(matches.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : route.method)));
  return { type: "wrong-method", allow: [...methods].join(", "), face: other.route.face };
}

/** One that says it is for this request, before one that is for any. */
function preferred(
  matches: readonly Candidate[],
  headers: IncomingHttpHeaders,
  method?: string,
): Candidate | undefined {
  let usual: Candidate | undefined;
  for (const match of matches) {
    if (method !== undefined && match.route.method !== method) continue;
    if (match.route.isFor?.(headers)) return match;
    if (!match.route.isFor) usual ??= match;
  }
  return usual;
}

function matchIds(routes: readonly Route[], path: string): readonly Candidate[] {
  return routes.flatMap((route) => {
    const prefix = route.path.slice(0, -ID.length);
    if (!path.startsWith(prefix) || path.length === prefix.length) return [];
    try {
      return [{ route, id: decodeURIComponent(path.slice(prefix.length)) }];
    } catch {
      return [];
    }
  });
}
