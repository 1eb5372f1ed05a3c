/** One event of a stream, as it was received: SSE with its name and comments, or a line of NDJSON. */
export interface RawEvent {
  readonly name: string;
  /** The text after `data:`, a line of NDJSON, or the text of a comment. */
  readonly data: string;
}

/** A stream without line ends must not fill the memory. */
const MAX_PENDING_CHARS = 8 * 1024 * 1024;

export const COMMENT = "comment";

/** Yields the events of a response. */
export async function* readStream(response: Response): AsyncGenerator<RawEvent> {
  const isSse = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let pending = "";
  let name = "";
  const read = (line: string): RawEvent | undefined => {
    if (!isSse) return line === "" ? undefined : { name: "", data: line };
    if (line === "") name = "";
    if (line.startsWith(":")) return { name: COMMENT, data: line.slice(1).trim() };
    if (line.startsWith("event:")) name = line.slice("event:".length).trim();
    return line.startsWith("data:") ? { name, data: line.slice("data:".length).trim() } : undefined;
  };
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    pending += decoder.decode(value, { stream: !done });
    const lines = pending.split(/\r?\n/);
    pending = done ? "" : (lines.pop() ?? "");
    if (pending.length > MAX_PENDING_CHARS) throw new Error("A line of the answer is too long.");
    for (const line of lines) {
      const event = read(line);
      if (event && event.data !== "") yield event;
    }
    if (done) return;
  }
}
