import { createInterface } from "node:readline/promises";
import { ExcursorError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import { type Install, refusal, severalInstalls } from "../../ide/app/find-installs.ts";

/** Returns the install to work on: the only one, or the user's choice. Throws if there is no terminal to ask on. */
export async function chooseInstall(installs: readonly Install[]): Promise<string> {
  const roots = installs.filter(({ refused }) => !refused).map(({ root }) => root);
  const [only, second] = roots;
  const [first] = installs;
  if (only === undefined && first?.refused) throw refusal(first.root, first.refused);
  if (only !== undefined && second === undefined) return only;
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw severalInstalls(roots);
  const list = roots.map((root, index) => `  ${index + 1}  ${printable(root)}\n`).join("");
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const stop = new AbortController();
  prompt.once("SIGINT", () => stop.abort());
  try {
    const answer = await prompt.question(`There are several Cursor installations:\n${list}Which one? `, {
      signal: stop.signal,
    });
    const root = roots[Number(answer) - 1];
    if (root === undefined) throw new ExcursorError("canceled", "No installation was chosen.");
    return root;
  } finally {
    prompt.close();
  }
}
