import type { Accounts } from "../../app/accounts/open-accounts.ts";
import { DRIVERS } from "../../app/drivers.ts";
import type { Config } from "../../app/load-config.ts";
import { routeModels } from "../../app/models/route-models.ts";
import { ExcursorError } from "../../core/errors.ts";
import { newHopId } from "../../core/http/hops.ts";
import type { Secret } from "../../core/secret.ts";
import { NO_STORES } from "../../drivers/shared/driver-module.ts";
import { type Check, failed, ok } from "./check.ts";

export interface UpstreamCheckOptions extends Pick<Accounts, "origin" | "transport" | "access"> {
  readonly config: Config;
  /** Called with every key in the settings. */
  readonly onSecret: (secret: Secret) => void;
}

/** The doctor runs as the gateway's owner. */
const OWNER = { id: "owner", token: undefined } as const;

/** Checks that each upstream other than Cursor answers and accepts its key. */
export async function upstreamChecks(options: UpstreamCheckOptions): Promise<readonly Check[]> {
  const { config, origin, transport, access, onSecret } = options;
  try {
    const { upstreams } = await routeModels(DRIVERS, config, {
      ...NO_STORES,
      origin,
      transports: { h1: transport, h2: transport },
      environment: process.env,
      access,
      isOwner: () => true,
      hopId: newHopId(),
      log: { info: () => {}, warn: () => {} },
      onSecret,
    });
    return [...upstreams].map(
      ([name, driver]): Check => ({
        id: `upstream/${name}`,
        async look() {
          try {
            const models = await driver.listModels(OWNER, new AbortController().signal);
            return ok(`${driver.host} answers and accepts the key; ${models.length} models.`);
          } catch (thrown) {
            const error = ExcursorError.from(thrown);
            // Some servers have no list. Only a real request shows whether they accept the key.
            if (error.kind === "not-found") return ok(`${driver.host} answers; it lists no models.`);
            return failed(error);
          }
        },
      }),
    );
  } catch (error) {
    return [{ id: "upstream", look: () => failed(error) }];
  }
}
