import { type Account, accountOf } from "../accounts.ts";
import type { Exchange } from "../exchange.ts";

const COOKIE = "WorkosCursorSessionToken";

/** Returns the account of a browser session. The cookie holds `user_…::JWT`, plain or URL-encoded. */
export function authenticateCookie(exchange: Exchange): Account {
  const value = cookieValue(exchange.header("cookie") ?? "");
  const separator = value.indexOf("::");
  return accountOf(separator > 0 ? value.slice(separator + 2) : "");
}

export const hasSessionCookie = (exchange: Exchange): boolean => cookieValue(exchange.header("cookie") ?? "") !== "";

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
