import type { Config } from "../../app/load-config.ts";
import { runningGateway } from "../gateway-address.ts";
import { proveAddress } from "../proven-gateway.ts";
import { type Check, type Finding, ok, skip, warn } from "./check.ts";

/** Checks that the gateway that runs has the IDE's bridge. */
export const bridgeCheck = ({ bridge }: Config): Check => ({
  id: "bridge",
  async look(): Promise<Finding> {
    if (!bridge?.listens) return skip("Off. `excursor serve --bridge` starts it.");
    const gateway = await runningGateway({});
    const facts = gateway && (await proveAddress(gateway, false));
    if (!facts) return skip("The gateway is not running.");
    if (facts.bridgeUrl) return ok(`The bridge listens at ${facts.bridgeUrl}.`);
    return warn("The gateway runs without the bridge.", "Its log says why: another program may have its port.");
  },
});
