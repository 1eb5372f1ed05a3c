import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { ExcursorError } from "../../core/errors.ts";
import type { FaceModule, RoutePath } from "../../faces/shared/face-module.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";

/** One method and path. A request that matches no route gets 404. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: RoutePath;
  /** True if no key is needed. */
  readonly isOpen?: boolean;
  /** True if requests are left out of the usage record, as those of open routes are. */
  readonly isUnrecorded?: boolean;
  /**
   * True for the dashboard. Its requests are left out of the usage record, logged at level debug, not counted as load, and
   * cancelled at once when the gateway stops.
   */
  readonly isInternal?: boolean;
  /** Formats the route's errors. Also tells its requests from those of another face with the same path. */
  readonly face: FaceModule;
  handle(exchange: GatewayExchange, parameters: PathParameters): Promise<void> | void;
}

export type PathParameters = Readonly<Record<string, string>>;

export type RouteMatch =
  | { readonly type: "found"; readonly route: Route; readonly parameters: PathParameters }
  | { readonly type: "wrong-method"; readonly allow: string; readonly face: FaceModule }
  | { readonly type: "none" };

/** The routes of a path with a parameter, and the path split around it. */
interface Pattern {
  readonly routes: readonly Route[];
  readonly before: string;
  readonly name: string;
  readonly after: string;
}

/** Returns the function that finds a route. Literal text is compared as received, without decoding. */
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

/** Returns the decoded parameter, or undefined if the path does not match. */
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

/** Prefers the face that recognises the request, then one that recognises none, then the first. */
const preferred = (routes: readonly Route[], headers: IncomingHttpHeaders): Route | undefined =>
  routes.find(({ face }) => face.isSpokenBy?.(headers)) ?? routes.find(({ face }) => !face.isSpokenBy) ?? routes[0];
