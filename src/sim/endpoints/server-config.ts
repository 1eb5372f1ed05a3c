import { AiService } from "../../gen/aiserver/v1/ai_pb.ts";
import { Http2Config, ServerConfigService } from "../../gen/aiserver/v1/server_config_pb.ts";
import type { Routes } from "../backend.ts";
import { serveUnary } from "../rpc.ts";
import { unaryPath, unaryRoute } from "./unary-route.ts";

/** Whether the backend is there, and how to reach it. */
export const serverConfigRoutes: Routes = {
  ...unaryRoute(ServerConfigService.method.getServerConfig, (_, { backend }) => ({
    http2Config: backend.options.hostConfig === "h2" ? Http2Config.FORCE_BIDI_ENABLED : Http2Config.FORCE_BIDI_DISABLED,
    // No other host: runs stay where the client already is.
    useNlbForNal: false,
  })),
  // A probe asks for the backend, not for an account.
  [unaryPath(AiService.method.healthCheck)]: (exchange) =>
    serveUnary(exchange, AiService.method.healthCheck, () => ({})),
};
