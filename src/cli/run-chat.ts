import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { ExcursorError } from "../core/errors.ts";
import { type ClientFlags, messageError, withGateway } from "./gateway-client.ts";
import { printable } from "./printable.ts";
import { readEvents } from "./read-events.ts";
import { startSpinner } from "./spinner.ts";

export interface ChatFlags extends ClientFlags {
  readonly model: string;
  readonly system?: string | undefined;
  readonly effort?: string | undefined;
}

interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string; readonly reasoning_content?: string } }[];
}

/** Asks, and shows the answer as it comes. Ctrl-C takes the question back. */
export async function runChat(words: string, { model, system, effort, ...flags }: ChatFlags): Promise<void> {
  const prompt = words === "" || words === "-" ? await readPrompt() : words;
  const body = {
    model,
    stream: true,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      { role: "user", content: prompt },
    ],
    ...(effort !== undefined && { reasoning_effort: effort }),
  };
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  try {
    await withGateway(flags, async (gateway) => {
      const spinner = startSpinner();
      try {
        const response = await gateway.call("/v1/chat/completions", { body, signal: interrupt.signal });
        const screen = createScreen();
        for await (const event of readEvents(response)) {
          const { content = "", reasoning_content: thinking = "" } = chunkOf(event).choices?.[0]?.delta ?? {};
          if (content + thinking !== "") spinner.stop();
          screen.think(thinking);
          screen.say(content);
        }
        screen.end();
      } finally {
        spinner.stop();
      }
    });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.stdout.write("\n");
    process.exitCode = 130;
  }
}

async function readPrompt(): Promise<string> {
  if (!process.stdin.isTTY) {
    const given = (await text(process.stdin)).trim();
    if (given !== "") return given;
  }
  throw new ExcursorError("invalid-request", "There is nothing to ask.", {
    hint: 'Write it after the command: excursor chat "hello"',
  });
}

function chunkOf(event: unknown): Chunk {
  const error = messageError("upstream-failed", event);
  if (error) throw error;
  return event as Chunk;
}

/** The answer on stdout, as it is where that is no terminal; thinking only for eyes. */
function createScreen() {
  const show = process.stdout.isTTY ? printable : (given: string) => given;
  let isThinking = false;
  let endsLine = true;
  return {
    think(given: string) {
      if (given === "" || !process.stderr.isTTY) return;
      isThinking = true;
      process.stderr.write(styleText("dim", printable(given), { stream: process.stderr }));
    },
    say(given: string) {
      if (given === "") return;
      if (isThinking) process.stderr.write("\n\n");
      isThinking = false;
      endsLine = given.endsWith("\n");
      process.stdout.write(show(given));
    },
    end() {
      if (!endsLine) process.stdout.write("\n");
    },
  };
}
