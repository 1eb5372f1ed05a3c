import type { SimOptions } from "../options.ts";
import { parseScripts, type Script } from "../script/parse.ts";

export function echoOf(prompt: string): string {
  const said = prompt.trim();
  const quoted = said.length > 200 ? `${said.slice(0, 200)}…` : said;
  const hint = 'I am a simulated model: begin a line with "@sim say hello" to script me.';
  return quoted === "" ? `Hello! ${hint}` : `You said: ${quoted}\n\n${hint}`;
}

/** Returns the script of the settings for turn N (from 1). Its parts, separated by `next`, repeat. */
export function defaultScript({ script }: SimOptions, turn: number): Script | undefined {
  const scripts = script === undefined ? [] : parseScripts(script);
  return scripts[(turn - 1) % Math.max(1, scripts.length)];
}
