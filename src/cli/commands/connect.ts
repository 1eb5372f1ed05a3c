import { Command } from "@commander-js/extra-typings";

export const connectCommand = () =>
  new Command("connect")
    .description("Point a client at the gateway: writes its configuration, keeps what was there, and tries it.")
    .argument("[client]", "claude-code, opencode, codex, continue, zed, aider or cursor; without it, what is connected")
    .option("-m, --model <model>", "the model to begin with; `excursor models` lists them", "auto")
    .option("--file <path>", "the client's configuration, if it is not at its usual place")
    .option("--url <url>", "the gateway, if not the one of the settings")
    .option("--key <key>", "its API key")
    .option("--tunnel <url>", "for cursor: where the gateway can be reached from outside; writes our settings for it")
    .option("--no-write", "with --tunnel: show the settings, and do not write them")
    .option("--json", "print the outcome as JSON", false)
    .addHelpText(
      "after",
      `
The gateway must be running. \`excursor disconnect\` puts everything back as it was, byte for byte.
  excursor connect claude-code
  excursor connect opencode -m claude-sonnet-5

The Cursor IDE has no configuration that could be written: \`excursor connect cursor\` says what to do there. With --tunnel
it adds hosts and pathSecret to our own settings, tries the tunnel, and exits with 69 if the gateway does not answer through it.`,
    )
    .action(async (client, flags) => {
      const { runConnect } = await import("./run-connect.ts");
      await runConnect(client, flags);
    });
