import { styleText } from "node:util";
import { printable } from "./printable.ts";

export interface ChatScreen {
  think(text: string): void;
  say(text: string): void;
  /** A tool was called, and this is what it gave. */
  call(name: string, args: string, result: string): void;
  /** Something about a tool that the gateway runs. */
  note(text: string): void;
  end(): void;
}

/** The answer on stdout, as it is where that is no terminal; thinking only for eyes; tools on stderr. */
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
      // A program that reads the answer gets it without line breaks of ours.
      if (process.stdout.isTTY) endLine();
      process.stderr.write(dim(`→ ${text}\n`));
    },
    end: endLine,
  };
}
