import { DRIVERS } from "../../app/drivers.ts";
import type { Config } from "../../app/load-config.ts";
import type { Accounts } from "../../app/open-accounts.ts";
import { routeModels } from "../../app/route-models.ts";
import { ExcursorError } from "../../core/errors.ts";
import { newHopId } from "../../core/hops.ts";
import type { Secret } from "../../core/secret.ts";
import { NO_STORES } from "../../drivers/shared/driver-module.ts";
import { type Check, failed, ok } from "./check.ts";

export interface UpstreamCheckOptions extends Pick<Accounts, "origin" | "transport" | "access"> {
  readonly config: Config;
  /** Told of every key that the settings lead to. */
  readonly onSecret: (secret: Secret) => void;
}

/** Whoever asks the doctor is the gateway's owner. */
const OWNER = { id: "owner", token: undefined } as const;

/** The upstreams other than Cursor, each by the name that leads to it: whether it answers and takes the key. */
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
            return ok(`${driver.host} answers and takes the key; ${models.length} models.`);
          } catch (thrown) {
            const error = ExcursorError.from(thrown);
            // Some servers have no list. Whether they take the key is seen by the first question.
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
