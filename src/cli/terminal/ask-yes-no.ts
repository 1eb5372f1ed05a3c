import { createInterface } from "node:readline/promises";
import { ExcursorError } from "../../core/errors.ts";
import { awaitedLater } from "../../core/ignored-failures.ts";

/** Asks on the terminal and returns the trimmed answer; empty for the default. Ctrl-C and Ctrl-D cancel. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = () =>
      reject(
        new ExcursorError("canceled", "Cancelled. What is already done stays done.", {
          hint: "`excursor reset` undoes it.",
        }),
      );
    lines.once("SIGINT", cancel);
    lines.once("close", cancel);
  });
  try {
    return (await Promise.race([lines.question(question), cancelled])).trim();
  } finally {
    void awaitedLater(cancelled);
    lines.close();
  }
}

/** Asks a question that is answered with yes or no. Repeats it until the answer is one of them. */
export async function askYesNo(question: string, usual: boolean): Promise<boolean> {
  for (;;) {
    const answer = (await askLine(`${question} ${usual ? "[Y/n]" : "[y/N]"} `)).toLowerCase();
    if (answer === "") return usual;
    if (/^y(?:es)?$/.test(answer)) return true;
    if (/^n(?:o)?$/.test(answer)) return false;
  }
}
