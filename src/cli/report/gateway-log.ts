import { type AddressFlags, gatewayAddress } from "../gateway-address.ts";
import { createClient } from "../gateway-client.ts";

const TIMEOUT_MS = 5000;

/** Returns the last log lines of the running gateway, oldest first. Throws if none runs. */
export async function gatewayLog(flags: AddressFlags): Promise<readonly string[]> {
  const address = gatewayAddress(flags);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const link = await createClient(address).call("/ui/links", { body: {}, signal });
  const { path } = (await link.json()) as { readonly path: string };
  const opened = await fetch(address.url + path, { redirect: "manual", signal });
  const cookie = opened.headers.getSetCookie().map((text) => text.split(";", 1)[0]);
  const headers = { cookie: cookie.join("; ") };
  const response = await fetch(`${address.url}/ui/api/log`, { headers, signal });
  const { lines } = (await response.json()) as { readonly lines: readonly { readonly json: string }[] };
  return lines.map(({ json }) => json.trimEnd());
}
