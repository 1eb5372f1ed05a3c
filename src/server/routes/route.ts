import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { ExcursorError } from "../../core/errors.ts";
import type { FaceModule, RoutePath } from "../../faces/shared/face-module.ts";
import type { Exchange } from "../exchange.ts";

/** One thing that can be asked for. Whatever is in no route does not exist. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: RoutePath;
  /** Whether anybody may ask. Everything else needs a key. */
  readonly isOpen?: boolean;
  /** Whose it is: writes its errors, and recognises its requests where another face has the same path. */
  readonly face: FaceModule;
  handle(exchange: Exchange, parameters: PathParameters): Promise<void> | void;
}

/** The values of `{name}` in a path. */
export type PathParameters = Readonly<Record<string, string>>;

export type RouteMatch =
  | { readonly type: "found"; readonly route: Route; readonly parameters: PathParameters }
  | { readonly type: "wrong-method"; readonly allow: string; readonly face: FaceModule }
  | { readonly type: "none" };

/** The routes of a path with a parameter, and the path cut at it. */
interface Pattern {
  readonly routes: readonly Route[];
  readonly before: string;
  readonly name: string;
  readonly after: string;
}

/**
 * Returns the function that finds the route of a request. Literal text is compared as it came, never decoded or
 * normalised: a path that is spelt differently is another path.
 */
export function createRouter(routes: readonly Route[]): (request: IncomingMessage) => RouteMatch {
  const isPattern = ({ path }: Route) => path.includes("{");
  const exact = Map.groupBy(
    routes.filter((route) => !isPattern(route)),
    ({ path }) => path,
  );
  const patterns = [...Map.groupBy(routes.filter(isPattern), ({ path }) => path)]
    .map(readPattern)
    .sort((a, b) => literalLength(b) - literalLength(a));
  return ({ method, url = "", headers }) => {
    const path = pathOf(url);
    const wanted = method === "HEAD" ? "GET" : method;
    const found = exact.get(path);
    if (found) return choose(found, {}, wanted, headers);
    for (const pattern of patterns) {
      const value = match(pattern, path);
      if (value !== undefined) return choose(pattern.routes, { [pattern.name]: value }, wanted, headers);
    }
    return { type: "none" };
  };
}

/** Returns the part of a request target before its query. */
function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

function readPattern([path, routes]: readonly [RoutePath, readonly Route[]]): Pattern {
  const [, before, name, after] = /^([^{]*)\{(\w+)\}([^{]*)$/.exec(path) ?? [];
  if (before === undefined || name === undefined || after === undefined) {
    throw new ExcursorError("internal", `A route has the path ${path}: expected at most one parameter.`);
  }
  return { routes, before, name, after };
}

const literalLength = ({ before, after }: Pattern): number => before.length + after.length;

/** Returns the decoded value of the parameter, undefined if the path does not fit. */
function match({ before, after }: Pattern, path: string): string | undefined {
  if (path.length <= before.length + after.length || !path.startsWith(before) || !path.endsWith(after))
    return undefined;
  try {
    return decodeURIComponent(path.slice(before.length, path.length - after.length));
  } catch {
    return undefined;
  }
}

function choose(
  routes: readonly Route[],
  parameters: PathParameters,
  method: string | undefined,
  headers: IncomingHttpHeaders,
): RouteMatch {
  const route = preferred(
    routes.filter((one) => one.method === method),
    headers,
  );
  if (route) return { type: "found", route, parameters };
  const other = preferred(routes, headers);
  if (!other) return { type: "none" };
  const methods = new Set(routes.map((one) => (one.method === "GET" ? "GET, HEAD" : one.method)));
  return { type: "wrong-method", allow: [...methods].join(", "), face: other.face };
}

/** Returns the route of the face that recognises the request, else of one that recognises none, else the first. */
const preferred = (routes: readonly Route[], headers: IncomingHttpHeaders): Route | undefined =>
  routes.find(({ face }) => face.isSpokenBy?.(headers)) ?? routes.find(({ face }) => !face.isSpokenBy) ?? routes[0];
