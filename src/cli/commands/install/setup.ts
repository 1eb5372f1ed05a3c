import { Command } from "@commander-js/extra-typings";

export const setupCommand = () =>
  new Command("setup")
    .description("Set Excursor up, step by step. `excursor` alone does the same on a terminal.")
    .option("--demo", "answer from the built-in simulator; no account needed", false)
    .option(
      "-y, --yes",
      "ask nothing and do every step that is not left out, then exit; the browser is not opened",
      false,
    )
    .option("--no-answer", "leave the test answer out; an account pays for it")
    .option("--no-connect", "leave the clients out")
    .option("--no-service", "leave the service out")
    .option("--no-ui", "leave the dashboard out")
    .addHelpText(
      "after",
      `
The steps: demo or account, one test answer, the clients that are found here, the background service, the dashboard.
Each can be skipped. \`excursor reset\` undoes all of them. \`excursor\` alone takes the same flags.

For scripts, for example in a container:
  excursor --yes --demo --no-service`,
    )
    .action(async (flags) => (await import("../../actions/install/setup.ts")).runSetup(flags));
