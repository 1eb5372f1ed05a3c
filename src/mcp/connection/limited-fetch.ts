import type { FetchLike } from "@modelcontextprotocol/client";

/** Creates a fetch that fails when one message gets too long: a body, or one line of an event stream. */
export function createLimitedFetch(
  maxBytes: number,
  onTooLarge: () => Error,
  onFailure: (error: unknown) => void = () => {},
): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init).catch((error: unknown) => {
      onFailure(error);
      throw error;
    });
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    let bytes = 0;
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const lineEnd = isStream ? chunk.lastIndexOf(10) : -1;
        bytes = lineEnd === -1 ? bytes + chunk.length : chunk.length - lineEnd - 1;
        if (bytes > maxBytes) controller.error(onTooLarge());
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(limit), response);
  };
}
