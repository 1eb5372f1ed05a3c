import { styleText } from "node:util";
import { printable } from "../../core/printable.ts";

export interface ChatScreen {
  think(text: string): void;
  say(text: string): void;
  call(name: string, args: string, result: string): void;
  /** Shows a note about a hub tool. */
  note(text: string): void;
  end(): void;
}

/**
 * Writes the answer to stdout, unchanged if that is no terminal. Thinking is shown on terminals only, tools on stderr.
 */
export function createChatScreen(): ChatScreen {
  const show = process.stdout.isTTY ? printable : (given: string) => given;
  const dim = (given: string) => styleText("dim", printable(given), { stream: process.stderr });
  let isThinking = false;
  let endsLine = true;
  const endLine = () => {
    if (isThinking) process.stderr.write("\n\n");
    if (!endsLine) process.stdout.write("\n");
    isThinking = false;
    endsLine = true;
  };
  return {
    think(given) {
      if (given === "" || !process.stderr.isTTY) return;
      isThinking = true;
      process.stderr.write(dim(given));
    },
    say(given) {
      if (given === "") return;
      if (isThinking) process.stderr.write("\n\n");
      isThinking = false;
      endsLine = given.endsWith("\n");
      process.stdout.write(show(given));
    },
    call(name, args, result) {
      endLine();
      process.stderr.write(dim(`→ ${name} ${args}\n← ${result}\n`));
    },
    note(text) {
      // A program that reads the answer gets no extra line breaks.
      if (process.stdout.isTTY) endLine();
      process.stderr.write(dim(`→ ${text}\n`));
    },
    end: endLine,
  };
}
