import { Command } from "@commander-js/extra-typings";

export const connectCommand = () =>
  new Command("connect")
    .description("Configure a client to use the gateway: back up its configuration, write it and test it.")
    .argument(
      "[client]",
      "claude-code, opencode, codex, continue, zed, aider, vscode, gemini-cli, qwen-code, goose, crush, open-webui or cursor; without it, the connected clients are listed",
    )
    .option("-m, --model <model>", "default model of the client; `excursor models` lists them", "auto")
    .option("--file <path>", "configuration file of the client; default: its usual place")
    .option("--url <url>", "URL of a gateway elsewhere; it gets the key")
    .option("--key <key>", "API key of the gateway")
    .option(
      "--tunnel <url>",
      "for cursor: public URL of a tunnel to the gateway; adds the settings that the tunnel needs",
    )
    .option("--no-write", "with --tunnel: print the settings instead of writing them")
    .option("--private", "for cursor: the Private Inference build and cursor-agent-local", false)
    .option("--prove", "test tools, images and thinking, too, in the client's API; exit with 69 if one fails", false)
    .option("--json", "print the result as JSON", false)
    .addHelpText(
      "after",
      `
The gateway must be running. \`excursor disconnect\` takes out what was written, and keeps later changes.
  excursor connect claude-code
  excursor connect opencode -m claude-sonnet-5
  excursor connect codex -m gpt-5.5 --prove

These have no configuration file. The command prints what to write, and the key is read from EXCURSOR_API_KEY:
copilot-cli, openai-sdk, anthropic-sdk, ai-sdk, langchain.

The Cursor IDE has no configuration file for this: \`excursor connect cursor\` prints the steps. With --tunnel,
it adds hosts and pathSecret to Excursor's settings and tests the tunnel. It exits with 69 if the test fails.`,
    )
    .action(async (client, flags) => (await import("../actions/connect.ts")).runConnect(client, flags));
