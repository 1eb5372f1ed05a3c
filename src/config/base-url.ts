export const BASE_URL_EXPECTED = "an https address, or an http one on loopback";

/** A key goes there: never in the clear over a network. */
export function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(value);
  if (username + password + search + hash !== "") return false;
  return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname));
}

/** One spelling for each address, so that they can be compared: without a slash at the end, a default port or capitals. */
export function normalizeBaseUrl(value: string): string {
  const { origin, pathname } = new URL(value);
  return origin + pathname.replace(/\/+$/, "");
}
