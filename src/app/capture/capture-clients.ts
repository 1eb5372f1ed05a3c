import { type BodyReader, readBody } from "../../capture/capture-transport.ts";
import type { CaptureRecorder } from "../../capture/recorder.ts";
import type { Exchange } from "../../server/gateway-exchange.ts";
import type { ClientTap } from "../../server/routes/client-tap.ts";
import { plainHeaders } from "../../wire/http/http.ts";

/** Records the turns of clients: the request as JSON, the answer as the client gets it. */
export const captureClients = (recorder: CaptureRecorder): ClientTap => ({
  open(exchange, body) {
    const sent = Buffer.from(JSON.stringify(body));
    const recording = recorder.call(headOf(exchange));
    recording.message({ direction: "sent", form: "body", flags: 0, wasCompressed: false, bytes: sent });
    let received: BodyReader | undefined;
    return {
      begin(contentType) {
        const headers = { "content-type": contentType };
        recording.response({ status: 200, headers });
        received = readBody("received", headers, recording);
      },
      piece: (piece) => received?.push(typeof piece === "string" ? Buffer.from(piece) : piece),
      end(outcome) {
        received?.end();
        recording.end({ outcome, sentBytes: sent.length, receivedBytes: received?.bytes ?? 0 });
      },
    };
  },
});

const headOf = ({ request, id, method = "POST" }: Exchange) => ({
  method,
  origin: `http://${request.headers.host ?? "gateway"}`,
  path: request.url ?? "/",
  headers: plainHeaders(request.headers),
  transport: "h1" as const,
  wire: "client" as const,
  requestId: id,
});
