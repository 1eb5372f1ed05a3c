export type BridgeLine = Readonly<Record<string, unknown>> & { readonly type: string };

/** The lines of a streamed answer of the bridge, as they come. */
export async function* readLines(response: Response): AsyncGenerator<BridgeLine> {
  let rest = "";
  for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as BridgeLine;
  }
}
