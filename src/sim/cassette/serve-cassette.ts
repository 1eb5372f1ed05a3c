import { IdMap } from "../../replay/id-map.ts";
import { methodOf } from "../../wire/agent/frame-kind.ts";
import { encodeFrame } from "../../wire/connect/envelope.ts";
import type { Route } from "../backend.ts";
import { runRoutes } from "../run/routes.ts";
import { type OpenRun, serveBidi, serveDownload } from "../run/stream-request.ts";
import type { SimExchange } from "../sim-exchange.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import { CassetteRun } from "./cassette-run.ts";

const MAX_BODY_BYTES = 64 << 20;
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
  const ids = new IdMap(player.cassette.blobs);
  const [sent] = call.messages.filter(({ direction }) => direction === "sent");
  if (sent) ids.learn(sent.bytes, body);
  const received = call.messages.filter(({ direction }) => direction === "received");
  if (!call.response) throw player.leave(path, "the recorded backend did not answer");
  const type = call.response.headers["content-type"];
  const parts = received.map(({ form, flags, bytes }) =>
    form === "frame" ? encodeFrame(ids.apply(bytes), flags) : ids.apply(bytes),
  );
  exchange.respond(call.response.status, Buffer.concat(parts), {
    ...(type === undefined ? {} : { "content-type": type }),
  });
}
