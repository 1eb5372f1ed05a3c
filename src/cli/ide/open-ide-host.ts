import { homedir } from "node:os";
import { styleText } from "node:util";
import { homeFolder, openHome } from "../../config/home.ts";
import { type IdeHost, systemHost } from "../../ide/host.ts";

/** Returns this machine, for the commands that change the Cursor IDE. Reports each step on stderr; Ctrl-C cancels. */
export function openIdeHost(): IdeHost {
  const home = homeFolder(process.env);
  openHome(home);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
  return systemHost({
    machine: { platform: process.platform, environment: process.env, userHome: homedir() },
    home,
    signal: stop.signal,
    onStep: (step) => process.stderr.write(`${styleText("dim", `… ${step}`, { stream: process.stderr })}\n`),
  });
}
