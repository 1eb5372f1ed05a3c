import { ExcursorError } from "../core/errors.ts";
import { DOOR_PATH, type DoorFacts } from "../server/routes/door-route.ts";
import { type GatewayAddress, urlOf } from "./gateway-address.ts";
import { createClient } from "./gateway-client.ts";

const TIMEOUT_MS = 10_000;

/**
 * Asks the gateway, through its door, whether its URL is its own, before a program or a browser is sent there. With `withKey`
 * also whether the key is right. Returns undefined for a typed URL, which the user answers for.
 */
export async function proveAddress(address: GatewayAddress, withKey: boolean): Promise<DoorFacts | undefined> {
  const { url, key, door } = address;
  if (!door) return undefined;
  const headers = withKey ? { authorization: `Bearer ${key.reveal()}` } : {};
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const facts = (await (await createClient(address).call(DOOR_PATH, { headers, signal })).json()) as DoorFacts;
  const own = urlOf(facts.host, facts.port);
  if (own !== url) throw new ExcursorError("other_address", [own, url]);
  return facts;
}
