import { ExcursorError } from "../../../core/errors.ts";
import type { GatewayAddress } from "../../gateway-address.ts";
import { createClient } from "../../gateway-client.ts";

/** A gateway answers in milliseconds. Other programs may accept a connection and never answer. */
const ANSWER_MS = 10_000;

/** Returns true if a gateway with our key answers, false if nothing listens. Throws if something else has the port. */
export async function isReady(address: GatewayAddress, answerMs = ANSWER_MS): Promise<boolean> {
  try {
    await createClient(address).call("/v1/models", { signal: AbortSignal.timeout(answerMs) });
    return true;
  } catch (error) {
    if (ExcursorError.from(error).code === "no_gateway") return false;
    throw new ExcursorError(
      "port_taken",
      `${address.url} is used by another program, or by a gateway with another key.`,
      { hint: "Stop it, or set another port: `port` in the settings, or EXCURSOR_PORT.", cause: error },
    );
  }
}
