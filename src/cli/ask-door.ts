import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";

interface DoorRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Does what `fetch` does, over a Unix socket or a named pipe. */
export async function askDoor(
  socketPath: string,
  path: string,
  { body, headers, ...options }: DoorRequest,
): Promise<Response> {
  const sent = request({ ...options, socketPath, path, headers: { ...headers, host: "localhost" } });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const given = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const content = Readable.toWeb(response) as unknown as ReadableStream<Uint8Array>;
  return new Response(content, { status: response.statusCode ?? 502, headers: given });
}
