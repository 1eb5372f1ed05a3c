import type { Meaning } from "../../replay/meaning.ts";

/** True for a piece of a shell's output. */
export const isShellPiece = ({ kind, texts }: Meaning): boolean =>
  kind === "exec_client_message.shell_stream" && texts.length === 1;

/** How many recorded pieces were said, and what was said of the next one. */
interface SaidPieces {
  readonly count: number;
  readonly rest: string;
}

/**
 * Compares what a client says with recorded pieces. Where a shell's output is divided is a matter of time, so only the text
 * counts. Undefined if it is another text.
 */
export function matchPieces(recorded: readonly string[], said: string): SaidPieces | undefined {
  let rest = said;
  for (const [count, text] of recorded.entries()) {
    if (text.length > rest.length) return text.startsWith(rest) ? { count, rest } : undefined;
    if (!rest.startsWith(text)) return undefined;
    rest = rest.slice(text.length);
  }
  return rest === "" ? { count: recorded.length, rest } : undefined;
}
