import { isIP } from "node:net";
import { isPublicAddress } from "../core/http/public-address.ts";
import { imageError } from "./image-errors.ts";

const MAX_URL_LENGTH = 8192;

/** Where an image is fetched from. The URL's text has been checked, its name not yet resolved. */
export interface ImageAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly url: URL;
}

/** Parses and checks a URL. Only the parsed result is used to connect, so the check cannot be bypassed. */
export function readImageAddress(text: string, base: URL | undefined, ports: readonly number[]): ImageAddress {
  const url = text.length <= MAX_URL_LENGTH && URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (!url) throw imageError("image_url_invalid", "The image's URL is not a valid URL.");
  if (url.protocol !== "https:") throw imageError("image_url_forbidden", "The image's URL is neither https nor data.");
  if (url.username !== "" || url.password !== "") {
    throw imageError("image_url_forbidden", "The image's URL contains credentials.");
  }
  const port = url.port === "" ? 443 : Number(url.port);
  if (!ports.includes(port)) throw imageError("image_url_forbidden", "The image's URL names a port other than 443.");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) && !isPublicAddress(host)) {
    throw imageError("image_url_forbidden", "The image's URL is not on the public internet.");
  }
  return { host, port, path: `${url.pathname}${url.search}`, url };
}
