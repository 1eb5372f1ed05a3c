export const BASE_URL_EXPECTED = "an https address, or an http one on loopback";

/** Accepts only addresses to which a key can be sent safely: https, or http on loopback. */
export function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(value);
  if (username + password + search + hash !== "") return false;
  return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname));
}

/** Normalises an address so that addresses can be compared: no trailing slash, no default port, lower-case host. */
export function normalizeBaseUrl(value: string): string {
  const { origin, pathname } = new URL(value);
  return origin + pathname.replace(/\/{1,9}$/, "");
}
