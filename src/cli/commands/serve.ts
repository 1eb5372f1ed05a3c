import { Command, Option } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

export const serveCommand = () =>
  new Command("serve")
    .description("Run the gateway, which offers the models of your Cursor account to OpenAI and Anthropic clients.")
    .option("--port <n>", "port to listen on; 0 picks a free port (default: 8787)", portNumber)
    .option("--host <address>", "address to listen on; other than loopback requires a strong key (default: 127.0.0.1)")
    .addOption(
      new Option("--demo", "answer from the built-in simulator; no account needed, no conversation is stored")
        .default(false)
        .conflicts(["upstream", "token"]),
    )
    .option("--key <key>", "API key that clients must send; use EXCURSOR_KEY to keep it out of the process list")
    .option("--account <name>", "signed-in account to use; `excursor whoami` lists them")
    .option("--token <token>", "token of the Cursor account; use EXCURSOR_TOKEN to keep it out of the process list")
    .option("--upstream <url>", "backend to use instead of Cursor's")
    .addOption(
      new Option("--driver <name>", "protocol to use with Cursor's backend").choices(["cursor", "cursor-legacy"]),
    )
    .addOption(new Option("--transport <name>", "HTTP version for runs").choices(["auto", "h2", "h1"]))
    .option("--client-version <version>", "client version that is sent to the backend")
    .addOption(
      new Option("--context <policy>", "what to do when a conversation exceeds the context window").choices([
        "refuse",
        "trim",
      ]),
    )
    .addOption(
      new Option("--tools <source>", "hub also offers the tools of your MCP servers and runs them").choices([
        "client",
        "hub",
      ]),
    )
    .addOption(
      new Option(
        "--images <source>",
        "images to accept: inside the request (data), or also https URLs (fetch)",
      ).choices(["auto", "data", "fetch"]),
    )
    .addOption(
      new Option("--log-level <level>", "log level; the log goes to stderr").choices([
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
      "also start the bridge for agents inside the Cursor IDE (see docs/acp.md); with compat, pages of the editor need no key",
    )
    .option("--cursor-face", "also serve Cursor's own clients, such as its SDK and CLI (see docs/inside-cursor.md)")
    .option("--cursor-port <n>", "port for Cursor's own clients; 0 picks a free one (default: 8788)", portNumber)
    .option(
      "--ollama",
      "also serve Ollama's clients that cannot send a key, of the same user only (see docs/ollama.md)",
    )
    .option("--ollama-port <n>", "port for Ollama's clients; 0 picks a free one (default: 11434)", portNumber)
    .option(
      "--capture [file]",
      "record the traffic to clients and upstreams in a file that only you can read; without a file, in the home folder (see docs/capture.md)",
    )
    .option(
      "--redis <url>",
      "Redis of the gateways that work together; use EXCURSOR_CLUSTER_REDIS if it has a password",
    )
    .option("--node <name>", "name of this gateway in the cluster (default: the host's name and the port)")
    .option("--json", "print the ready line as JSON", false)
    .addOption(new Option("--until-stdin-ends", "stop when stdin closes").default(false).hideHelp())
    .addHelpText(
      "after",
      `
Try it without an account:
  excursor serve --demo

With an account:
  excursor login
  excursor serve

Then, in another terminal:
  eval "$(excursor env)"     # OPENAI_BASE_URL and OPENAI_API_KEY for any OpenAI client
  excursor chat "hello"

\`excursor config\` lists every setting with its value, origin and environment variable.`,
    )
    .action(async ({ redis, node, ...flags }) => {
      const cluster = { "cluster.redis": redis, "cluster.node": node };
      await (await import("../actions/serve.ts")).runServe({ ...flags, ...cluster });
    });
