import { Command } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

export const uiCommand = () =>
  new Command("ui")
    .description("Open the dashboard of the running gateway in the browser, by a link that works once, for a minute.")
    .option("--no-open", "only print the link")
    .option("--url <url>", "URL of a gateway elsewhere; it gets the key")
    .option("--port <n>", "port of the gateway, if several run here", portNumber)
    .option("--key <key>", "the gateway's own key; use EXCURSOR_KEY to keep it out of the process list")
    .option("--json", "print JSON; does not open the browser", false)
    .action(async (flags) => {
      const { runUi } = await import("../actions/ui.ts");
      await runUi(flags);
    });
