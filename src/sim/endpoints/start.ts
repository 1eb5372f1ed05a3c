import { createHash } from "node:crypto";
import { Http2Config } from "../../gen/aiserver/v1/server_config_pb.ts";
import { START_CALLS, type StartCaller } from "../../wire/agent/start-calls.ts";
import { respondEmpty } from "../../wire/connect/empty-response.ts";
import { authenticate } from "../accounts.ts";
import type { Routes } from "../backend.ts";
import { identityOf } from "./identity.ts";
import { titleFor } from "./title.ts";
import { type Caller, unaryRoute } from "./unary-route.ts";

/** Calls that need no login. */
const OPEN = /^POST \/(?:aiserver\.v1\.AnalyticsService\/|aiserver\.v1\.AiService\/HealthCheck$|v1\/traces$)/;

/** What clients ask when they start and around a run. */
export const startRoutes: Routes = Object.assign(
  {},
  ...[...START_CALLS].map(([route, { answer }]): Routes => {
    if (answer.type === "message") {
      return unaryRoute(answer.method, (input, caller) => answer.make(startCallerOf(caller), input as never));
    }
    return {
      [route](exchange) {
        if (!OPEN.test(route)) authenticate(exchange);
        return respondEmpty(exchange, answer.json);
      },
    };
  }),
);

function startCallerOf({ account, backend }: Caller): StartCaller {
  const identity = identityOf(account);
  return {
    ...identity,
    pathKey: createHash("sha256").update(identity.authId).digest("base64url"),
    http2Config: backend.options.hostConfig === "h2" ? Http2Config.FORCE_BIDI_ENABLED : Http2Config.FORCE_BIDI_DISABLED,
    defaultModel: () => "default",
    nameFor: titleFor,
  };
}
