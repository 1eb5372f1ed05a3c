import { Command, Option } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

export const serveCommand = () =>
  new Command("serve")
    .description("Run the gateway: OpenAI clients use the models of your Cursor account.")
    .option("--port <n>", "port to listen on; 0 picks a free one (default: 8787)", portNumber)
    .option("--host <address>", "address to listen on; beyond loopback the key must be strong (default: 127.0.0.1)")
    .addOption(
      new Option("--demo", "answer from the embedded simulator: no account needed")
        .default(false)
        .conflicts(["upstream", "token"]),
    )
    .option("--key <key>", "what clients send as API key; EXCURSOR_KEY keeps it out of the process list")
    .option("--account <name>", "which of the signed-in accounts to use; `excursor whoami` lists them")
    .option("--token <token>", "token of the Cursor account; EXCURSOR_TOKEN keeps it out of the process list")
    .option("--upstream <url>", "another backend origin")
    .addOption(
      new Option("--driver <name>", "which of Cursor's protocols to speak").choices(["cursor", "cursor-legacy"]),
    )
    .addOption(new Option("--transport <name>", "how runs reach the backend").choices(["auto", "h2", "h1"]))
    .option("--client-version <version>", "the client version told to the backend")
    .addOption(
      new Option("--context <policy>", "what to do when a conversation is too long").choices(["refuse", "trim"]),
    )
    .addOption(
      new Option("--tools <source>", "hub offers every model the tools of your MCP servers, and runs them").choices([
        "client",
        "hub",
      ]),
    )
    .addOption(new Option("--images <source>", "where images may come from").choices(["auto", "data", "fetch"]))
    .addOption(
      new Option("--log-level <level>", "how much to log on stderr").choices([
        "trace",
        "debug",
        "info",
        "warn",
        "error",
        "fatal",
        "silent",
      ]),
    )
    .option(
      "--bridge [mode]",
      "also listen for agents inside the Cursor IDE (see docs/acp.md); compat: the editor's own pages need no key",
    )
    .option("--json", "print the ready line as JSON", false)
    .addOption(new Option("--until-stdin-ends", "stop when whoever started it is gone").default(false).hideHelp())
    .addHelpText(
      "after",
      `
Try it without an account:
  excursor serve --demo

With one:
  excursor login
  excursor serve

Then, in another terminal:
  eval "$(excursor env)"     # OPENAI_BASE_URL and OPENAI_API_KEY for any OpenAI client
  excursor chat "hello"

\`excursor config\` lists every setting, its environment variable and where its value comes from.`,
    )
    .action(async (flags) => {
      const { runServe } = await import("./run-serve.ts");
      await runServe(flags);
    });
