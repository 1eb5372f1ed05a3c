import { IdMap } from "../../replay/id-map.ts";
import { methodOf } from "../../wire/agent/frame-kind.ts";
import { withoutAgentHosts } from "../../wire/agent/without-agent-hosts.ts";
import { encodeFrame } from "../../wire/connect/envelope.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import type { Route } from "../backend.ts";
import { runRoutes } from "../run/routes.ts";
import { type OpenRun, serveBidi, serveDownload } from "../run/stream-request.ts";
import type { SimExchange } from "../sim-exchange.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import { CassetteRun } from "./cassette-run.ts";

const MAX_BODY_BYTES = 64 << 20;
const SERVER_CONFIG = "/aiserver.v1.ServerConfigService/GetServerConfig";
const APPEND = "/aiserver.v1.BidiService/BidiAppend";

/** Answers a call as the recorded backend did. */
export const serveCassette =
  (player: CassettePlayer): Route =>
  async (exchange, backend) => {
    const { path } = exchange;
    const append = runRoutes[`POST ${APPEND}`];
    if (path === APPEND && append) return append(exchange, backend);
    const isDownload = path.endsWith("SSE");
    const stream = isDownload ? path.slice(0, -"SSE".length) : path;
    const kind = methodOf(stream)?.methodKind;
    const open: OpenRun = (_, __, ___, out) => new CassetteRun(player, stream, out, backend.options);
    if (kind === "bidi_streaming")
      return isDownload ? serveDownload(exchange, backend, open) : serveBidi(exchange, backend, open);
    return serveWhole(exchange, player);
  };

/** Answers a call whose request is one body, with all that was received. */
async function serveWhole(exchange: SimExchange, player: CassettePlayer): Promise<void> {
  const { method, path } = exchange;
  const body = await exchange.readBody(MAX_BODY_BYTES);
  const call = player.findUnary(method, path, exchange.header("content-type"), body);
  const ids = new IdMap();
  const [sent] = call.messages.filter(({ direction }) => direction === "sent");
  if (sent) ids.learn(sent.bytes, body);
  const received = call.messages.filter(({ direction }) => direction === "received");
  if (!call.response) throw player.leave(path, "the recorded backend did not answer");
  const type = call.response.headers["content-type"];
  const parts = received.map(({ form, flags, bytes }) =>
    form === "frame" ? encodeFrame(ids.apply(bytes), flags) : ids.apply(bytes),
  );
  const answer = Buffer.concat(parts);
  const isConfig = path === SERVER_CONFIG && call.response.status === 200;
  exchange.respond(call.response.status, isConfig ? staying(answer, type) : answer, {
    ...(type === undefined ? {} : { "content-type": type }),
  });
}

/** The recorded backend may name hosts for agent calls, and a client that goes there would leave the cassette. */
function staying(config: Buffer, type: string | undefined): Uint8Array {
  try {
    return withoutAgentHosts(config, mediaType(type) === "application/json");
  } catch {
    return config;
  }
}
