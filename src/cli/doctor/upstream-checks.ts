import { routeModels } from "../../app/route-models.ts";
import type { Config } from "../../config/settings.ts";
import { ExcursorError } from "../../core/errors.ts";
import { newHopId } from "../../core/hops.ts";
import type { Secret } from "../../core/secret.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import { type Check, failed, ok } from "./check.ts";

export interface UpstreamCheckOptions {
  readonly config: Config;
  readonly transport: HttpTransport;
  /** Told of every key that the settings lead to. */
  readonly onSecret: (secret: Secret) => void;
}

/** Whoever asks the doctor is the gateway's owner. */
const OWNER = { id: "owner", token: undefined } as const;

/** The upstreams other than Cursor, each by the name that leads to it: whether it answers and takes the key. */
export function upstreamChecks({ config, transport, onSecret }: UpstreamCheckOptions): readonly Check[] {
  try {
    const { upstreams, keys } = routeModels(config, transport, process.env, newHopId());
    for (const key of keys) onSecret(key);
    return [...upstreams].map(
      ([name, { host, driver }]): Check => ({
        id: `upstream/${name}`,
        async look() {
          try {
            const models = await driver.listModels(OWNER, new AbortController().signal);
            return ok(`${host} answers and takes the key; ${models.length} models.`);
          } catch (thrown) {
            const error = ExcursorError.from(thrown);
            // Some servers have no list. Whether they take the key is seen by the first question.
            if (error.kind === "not-found") return ok(`${host} answers; it lists no models.`);
            return failed(error);
          }
        },
      }),
    );
  } catch (error) {
    return [{ id: "upstream", look: () => failed(error) }];
  }
}
