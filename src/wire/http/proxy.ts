import { isIPv6 } from "node:net";
import { ExcursorError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";

/** An HTTP proxy for tunnels (CONNECT). */
export interface HttpProxy {
  /** `http://host:port`, or `https://…` for a proxy that is reached over TLS. Without credentials. */
  readonly origin: string;
  readonly authorization: Secret | undefined;
}

/** Returns the proxy for an origin, or undefined. Throws if the proxy settings are invalid. */
export type FindProxy = (origin: URL) => HttpProxy | undefined;

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

type Environment = Readonly<Record<string, string | undefined>>;

const readVariable = (environment: Environment, name: string): string =>
  (environment[name.toLowerCase()] || environment[name.toUpperCase()] || "").trim();

/**
 * Reads `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. `NO_PROXY` is a list of hosts with or without a port,
 * which include their subdomains; `*` means all. Loopback and plain HTTP never use the proxy.
 */
export function proxyFromEnvironment(environment: Environment): FindProxy {
  const value = readVariable(environment, "HTTPS_PROXY");
  const exceptions = readVariable(environment, "NO_PROXY")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  return (origin) => {
    if (value === "" || origin.protocol !== "https:" || LOOPBACK.test(origin.hostname)) return undefined;
    if (exceptions.some((exception) => excepts(exception, origin))) return undefined;
    return readProxy(value);
  };
}

/** Returns the secret parts of the proxy's address, encoded and decoded. */
export function proxySecrets(environment: Environment): readonly string[] {
  const url = parse(readVariable(environment, "HTTPS_PROXY"));
  if (!url || url.password === "") return [];
  return [url.password, decode(url.password), Buffer.from(credentialsOf(url)).toString("base64")];
}

function readProxy(value: string): HttpProxy {
  const url = parse(value);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new ExcursorError("invalid_proxy");
  }
  const hasCredentials = url.username + url.password !== "";
  const authorization = `Basic ${Buffer.from(credentialsOf(url)).toString("base64")}`;
  return { origin: url.origin, authorization: hasCredentials ? new Secret(authorization) : undefined };
}

/** A bare `host:port` is an HTTP proxy. */
function parse(value: string): URL | undefined {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

const credentialsOf = ({ username, password }: URL): string => `${decode(username)}:${decode(password)}`;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function excepts(exception: string, { hostname, port }: URL): boolean {
  if (exception === "*") return true;
  const [, name = "", onPort] = isIPv6(exception)
    ? [exception, `[${exception}]`]
    : (HOST_AND_PORT.exec(exception) ?? []);
  const host = name.replace(/^\*?\./, "");
  if (host === "" || (onPort !== undefined && onPort !== (port || "443"))) return false;
  return hostname === host || hostname.endsWith(`.${host}`);
}

const HOST_AND_PORT = /^(.*?)(?::(\d+))?$/;
