import { Command } from "@commander-js/extra-typings";

export const acpCommand = () =>
  new Command("acp")
    .description("Be an agent for editors that speak ACP, such as Zed: they start this by themselves.")
    .option("-m, --model <model>", "the model that a conversation begins with", "auto")
    .option("--demo", "let the embedded simulator answer: no account needed", false)
    .option("--account <name>", "which of the signed-in accounts to use")
    .addHelpText(
      "after",
      `
For Zed, in its settings.json:
  "agent_servers": { "Excursor": { "command": "excursor", "args": ["acp"] } }

It talks JSON-RPC on stdin and stdout; logs go to stderr. It ends with its stdin.`,
    )
    .action(async (flags) => {
      const { runAcp } = await import("./run-acp.ts");
      await runAcp(flags);
    });
