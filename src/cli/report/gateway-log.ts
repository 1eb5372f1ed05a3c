import { findGateway } from "../gateway-address.ts";
import { createClient } from "../gateway-client.ts";

const TIMEOUT_MS = 5000;

/** Returns the last log lines of the running gateway, oldest first. Throws if none runs. */
export async function gatewayLog(): Promise<readonly string[]> {
  const client = createClient(await findGateway({}));
  const response = await client.call("/ui/api/log", { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { lines } = (await response.json()) as { readonly lines: readonly { readonly json: string }[] };
  return lines.map(({ json }) => json.trimEnd());
}
