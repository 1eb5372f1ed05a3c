import { type BodyReader, readBody } from "../../capture/capture-transport.ts";
import type { CaptureRecorder } from "../../capture/recorder.ts";
import type { CursorFaceParts } from "../../faces/cursor/index.ts";
import { plainHeaders } from "../../wire/http/http.ts";

/** Records the calls of Cursor's clients that are not just passed on. The others are recorded behind the face. */
export const captureOwnCalls =
  (recorder: CaptureRecorder): NonNullable<CursorFaceParts["onOwnCall"]> =>
  (exchange, held, requestId) => {
    const { request, method, target, transport } = exchange;
    const headers = plainHeaders(request.headers);
    const recording = recorder.call({
      method,
      origin: `http://${exchange.header(":authority") ?? exchange.header("host") ?? "gateway"}`,
      path: target,
      headers,
      transport,
      wire: "client",
      requestId,
    });
    const sent = readBody("sent", headers, recording);
    let received: BodyReader | undefined;
    for (const chunk of held.chunks) sent.push(chunk);
    const onData = (chunk: Uint8Array) => sent.push(chunk);
    // The request is paused, or read within this turn of the event loop, so this takes nothing away from its reader.
    request.on("data", onData);
    exchange.watch({
      head(status, answered) {
        const plain = plainHeaders(answered);
        recording.response({ status, headers: plain });
        received = readBody("received", plain, recording);
      },
      data: (chunk) => received?.push(chunk),
    });
    exchange.onOver((wasCut) => {
      request.off("data", onData);
      sent.end();
      received?.end();
      const [sentBytes, receivedBytes] = [sent.bytes, received?.bytes ?? 0];
      recording.end({ outcome: wasCut ? "aborted" : "ok", sentBytes, receivedBytes });
    });
  };
