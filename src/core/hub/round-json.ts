import type { AssistantPart, ToolMessage } from "../turn.ts";
import type { HubRound } from "./hub-answers.ts";

/** Largest result that is stored, in bytes. */
export const MAX_RESULT_BYTES: number = 1024 * 1024;

/** Converts a round to JSON, without thinking. A larger result is replaced by a note that the call was made. */
export function formatRound({ said, results }: HubRound, maxResultBytes: number = MAX_RESULT_BYTES): string {
  const content = said.content.filter(({ type }) => type !== "thinking");
  return JSON.stringify({ said: content, results: results.map((result) => bounded(result, maxResultBytes)) });
}

/** Converts a result to JSON, or to a note if it is too large. */
function bounded({ callId, content, isError }: ToolMessage, maxBytes: number): object {
  const bytes = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : part.data.length), 0);
  if (bytes > maxBytes) {
    const text = `The call was made. Its result of ${bytes} bytes was too large to be kept, and the call was not made again.`;
    return { callId, isError, content: [{ type: "text", text }] };
  }
  const parts = content.map((part) =>
    part.type === "image" ? { ...part, data: Buffer.from(part.data).toString("base64") } : part,
  );
  return { callId, isError, content: parts };
}

interface StoredRound {
  readonly said: readonly AssistantPart[];
  readonly results: readonly {
    readonly callId: string;
    readonly isError: boolean;
    readonly content: readonly (
      | { readonly type: "text"; readonly text: string }
      | { readonly type: "image"; readonly mediaType: string; readonly data: string }
    )[];
  }[];
}

/** Reads what {@link formatRound} wrote. */
export function parseRound(body: string): HubRound {
  const { said, results } = JSON.parse(body) as StoredRound;
  return {
    said: { role: "assistant", content: said },
    results: results.map(({ callId, isError, content }) => ({
      role: "tool",
      callId,
      isError,
      isHubs: true,
      content: content.map((part) =>
        part.type === "image" ? { ...part, data: new Uint8Array(Buffer.from(part.data, "base64")) } : part,
      ),
    })),
  };
}
