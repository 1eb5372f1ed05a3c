import { Command } from "@commander-js/extra-typings";

export const acpCommand = () =>
  new Command("acp")
    .description("Run as an ACP agent for an editor such as Zed. The editor starts this command.")
    .option("-m, --model <model>", "model for new conversations", "auto")
    .option("--demo", "use the built-in simulator; no account needed", false)
    .option("--account <name>", "signed-in account to use")
    .addHelpText(
      "after",
      `
For Zed, in its settings.json:
  "agent_servers": { "Excursor": { "command": "excursor", "args": ["acp"] } }

It speaks JSON-RPC on stdin and stdout and logs to stderr. It exits when stdin closes.`,
    )
    .action(async (flags) => (await import("../actions/acp.ts")).runAcp(flags));
