import { Command } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

export const runCommand = () =>
  new Command("run")
    .description("Start a program whose Cursor, OpenAI and Anthropic clients use the gateway that runs here.")
    .argument("<command...>", "the program and its arguments, after --")
    .option("--port <n>", "port of the gateway, if several run here", portNumber)
    .option("--url <url>", "address of a gateway elsewhere; it gets the key")
    .option("--cursor-url <url>", "address that its `serve --cursor-face` printed")
    .option(
      "--with-key",
      "give Cursor's clients the gateway's key: your own models only, without a Cursor account",
      false,
    )
    .addHelpText(
      "after",
      `
It sets these variables for the program:
  CURSOR_BACKEND_URL, CURSOR_API_ENDPOINT, CURSOR_API_BASE_URL   the listener for Cursor's clients
  OPENAI_BASE_URL, OPENAI_API_KEY                                the gateway
  ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN                       the gateway (ANTHROPIC_API_KEY is emptied)
  CURSOR_API_KEY                                                 the gateway's key, with --with-key

Cursor's command line, cursor-agent, also gets -e, --agent-endpoint and a CURSOR_CONFIG_DIR of its own in Excursor's folder.

In one terminal, then in another:
  excursor serve --cursor-face
  excursor run -- node my-agent.js`,
    )
    .action(async ([command = "", ...args], flags) =>
      (await import("../actions/program.ts")).runProgram(command, args, flags),
    );
