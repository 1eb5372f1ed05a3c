import { create, type DescMethodUnary, fromBinary, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { DashboardService, PrivacyMode } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { Http2Config, ServerConfigService } from "../../gen/aiserver/v1/server_config_pb.ts";
import { emptyCallPaths } from "../../wire/agent/empty-calls.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { nameOf } from "./conversation-names.ts";
import { needsAccount } from "./decide-run.ts";
import { wantsJson } from "./models.ts";

type Response = (body: Buffer, isJson: boolean) => unknown;

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * What holders of a gateway key get for the calls that Cursor's clients make before and around a run. They have no Cursor
 * account, so the answers are those of an account without a team, and nothing reaches Cursor.
 */
const RESPONSES: ReadonlyMap<string, Response> = new Map([
  response(ServerConfigService.method.getServerConfig, () => ({ http2Config: Http2Config.FORCE_BIDI_ENABLED })),
  response(DashboardService.method.getUserPrivacyMode, () => ({ privacyMode: PrivacyMode.NO_STORAGE })),
  response(AgentService.method.nameAgent, (body, isJson) => ({ name: nameFor(body, isJson) })),
]);

const EMPTY: ReadonlySet<string> = new Set([
  ...emptyCallPaths("DashboardService"),
  ...emptyCallPaths("AnalyticsService"),
]);

/** Answers a call of a key holder. Throws if it needs an account. */
export async function answerKeyHolder(exchange: ServerExchange): Promise<void> {
  const known = RESPONSES.get(exchange.path);
  if (!known && !EMPTY.has(exchange.path)) throw needsAccount(`The call ${exchange.path}`);
  const isJson = wantsJson(exchange);
  const body = await exchange.readBody(MAX_BODY_BYTES);
  const message = known?.(body, isJson);
  if (isJson) exchange.respondJson(200, message ?? (exchange.path.endsWith("/BootstrapStatsig") ? { config: "" } : {}));
  else exchange.respond(200, (message ?? "") as Uint8Array | string, { "content-type": "application/proto" });
}

function response<M extends DescMethodUnary>(
  method: M,
  init: (body: Buffer, isJson: boolean) => MessageInitShape<M["output"]>,
): [string, Response] {
  return [
    `/${method.parent.typeName}/${method.name}`,
    (body, isJson) => {
      const message = create(method.output, init(body, isJson));
      return isJson ? toJson(method.output, message) : toBinary(method.output, message);
    },
  ];
}

/** The first words of the message, as a name for its conversation. */
function nameFor(body: Buffer, isJson: boolean): string {
  const { input } = AgentService.method.nameAgent;
  const message = isJson ? (JSON.parse(body.toString("utf8")) as { userMessage?: string }) : fromBinary(input, body);
  return nameOf(message.userMessage ?? "");
}
