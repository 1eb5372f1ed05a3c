import { createInterface } from "node:readline";
import { addAbortSignal, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { ExcursorError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";

/** Reads a secret: given with its flag, else from stdin. On a terminal it asks, and does not echo. */
export async function readSecret(given: string | true, what: string, signal: AbortSignal): Promise<Secret> {
  const read =
    given !== true ? given : process.stdin.isTTY ? await ask(what) : await text(addAbortSignal(signal, process.stdin));
  const value = read.trim();
  if (value !== "") return new Secret(value);
  throw new ExcursorError("nothing_given", [what]);
}

function ask(what: string): Promise<string> {
  process.stderr.write(`${what}: `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  return new Promise((resolve, reject) => {
    lines.once("line", resolve);
    const cancel = () => reject(new ExcursorError("canceled", "Nothing was changed."));
    lines.once("SIGINT", cancel);
    // Ctrl-D.
    lines.once("close", cancel);
  }).finally(() => {
    lines.close();
    process.stderr.write("\n");
  }) as Promise<string>;
}
