import { type Account, accountOf } from "../accounts.ts";
import type { SimExchange } from "../sim-exchange.ts";

const COOKIE = "WorkosCursorSessionToken";

/** Returns the account of a browser session. The cookie holds `user_…::JWT`, plain or URL-encoded. */
export function authenticateCookie(exchange: SimExchange): Account {
  const value = cookieValue(exchange.header("cookie") ?? "");
  const separator = value.indexOf("::");
  return accountOf(separator > 0 ? value.slice(separator + 2) : "");
}

export const hasSessionCookie = (exchange: SimExchange): boolean => cookieValue(exchange.header("cookie") ?? "") !== "";

function cookieValue(header: string): string {
  for (const pair of header.split(";")) {
    const [name, ...rest] = pair.split("=");
    if (name?.trim() === COOKIE) return decode(rest.join("=").trim());
  }
  return "";
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}
