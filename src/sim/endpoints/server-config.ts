import { AiService } from "../../gen/aiserver/v1/ai_pb.ts";
import { Http2Config, ServerConfigService } from "../../gen/aiserver/v1/server_config_pb.ts";
import type { Routes } from "../backend.ts";
import { serveUnary } from "../rpc.ts";
import { unaryPath, unaryRoute } from "./unary-route.ts";

export const serverConfigRoutes: Routes = {
  ...unaryRoute(ServerConfigService.method.getServerConfig, (_, { backend }) => ({
    http2Config: backend.options.hostConfig === "h2" ? Http2Config.FORCE_BIDI_ENABLED : Http2Config.FORCE_BIDI_DISABLED,
    // Keeps runs on the host that the client already uses.
    useNlbForNal: false,
  })),
  // Needs no account.
  [unaryPath(AiService.method.healthCheck)]: (exchange) =>
    serveUnary(exchange, AiService.method.healthCheck, () => ({})),
};
