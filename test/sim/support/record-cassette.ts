import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { captureTransport } from "../../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../../src/capture/recorder.ts";
import { BackendClient, type ClientOptions } from "./backend-client.ts";

/** Records what a client does into a capture. Returns its file, which the caller removes. `now` is the clock of the records. */
export async function recordCassette(
  options: ClientOptions,
  act: (client: BackendClient) => Promise<unknown>,
  file = join(tmpdir(), `excursor-${randomUUID()}.capture`),
  now?: () => number,
): Promise<string> {
  const onEnd = (reason: string) => {
    throw new Error(reason);
  };
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e7, onEnd }), now && { now });
  const wrap: ClientOptions["wrap"] = (transport, name) => captureTransport(transport, name, recorder);
  const client = new BackendClient({ ...options, wrap });
  try {
    await act(client);
  } finally {
    client.close();
    recorder.close();
  }
  return file;
}
