import { Command, Option } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

const listCommand = () =>
  new Command("list")
    .description("List the servers, connect to each, and count its tools.")
    .option("--json", "print JSON", false)
    .action(async (flags) => {
      const { runMcpList } = await import("./run-mcp-list.ts");
      await runMcpList(flags);
    });

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

const addCommand = () =>
  new Command("add")
    .description("Add a server: a program of this machine, or an address.")
    .argument("<name>", "what to call it")
    .argument("[command...]", "the program and its arguments, after --")
    .option("--url <url>", "the address of a server that runs elsewhere")
    .addOption(
      new Option("--type <transport>", "the transport of an address; without it both are tried").choices([
        "http",
        "sse",
      ]),
    )
    .option("--header <name: value>", "sent with every request; may be repeated", collect, [])
    .option("--env <NAME=value>", "set for the program; may be repeated", collect, [])
    .option("--cwd <folder>", "where the program runs")
    .option("--force", "replace one of the same name", false)
    .action(async (name, command, flags) => {
      const { runMcpAdd } = await import("./run-mcp-edit.ts");
      await runMcpAdd(name, command, flags);
    });

const removeCommand = () =>
  new Command("remove")
    .description("Forget a server.")
    .argument("<name>", "its name")
    .action(async (name) => {
      const { runMcpRemove } = await import("./run-mcp-edit.ts");
      await runMcpRemove(name);
    });

const importCommand = () =>
  new Command("import")
    .description("Take over servers from Cursor's own file, or from another one of its form.")
    .argument("[names...]", "which; all that are not here yet without them")
    .option("--from <file>", "the file, if not ~/.cursor/mcp.json")
    .action(async (names, flags) => {
      const { runMcpImport } = await import("./run-mcp-edit.ts");
      await runMcpImport(names, flags);
    });

const approveCommand = () =>
  new Command("approve")
    .description(
      "Allow servers of this folder's .mcp.json or .cursor/mcp.json, and tools that a server has changed, as they are now.",
    )
    .argument("[names...]", "SERVER, or SERVER/TOOL for one changed tool; without them all that waits is shown")
    .action(async (names) => {
      const { runMcpApprove } = await import("./run-mcp-edit.ts");
      await runMcpApprove(names);
    });

const testCommand = () =>
  new Command("test")
    .description("Connect to one server and show what it offers.")
    .argument("<name>", "its name")
    .option("--json", "print JSON", false)
    .action(async (name, flags) => {
      const { runMcpTest } = await import("./run-mcp-test.ts");
      await runMcpTest(name, flags);
    });

const callCommand = () =>
  new Command("call")
    .description("Call one tool and print what it gives back.")
    .argument("<tool>", "server/tool, or its name in the catalogue")
    .argument("[arguments]", "a JSON object; - reads it from stdin", "{}")
    .option("--json", "print the whole result as JSON", false)
    .action(async (tool, args, flags) => {
      const { runMcpCall } = await import("./run-mcp-call.ts");
      await runMcpCall(tool, args, flags);
    });

const loginCommand = () =>
  new Command("login")
    .description("Sign in to a server that asks for it, in the browser; it is kept and renewed by itself.")
    .argument("<name>", "its name")
    .option("--no-browser", "only print the address, do not open it")
    .option("--json", "print JSON lines: the address, then the server", false)
    .action(async (name, flags) => {
      const { runMcpLogin } = await import("./run-mcp-login.ts");
      await runMcpLogin(name, flags);
    });

const logoutCommand = () =>
  new Command("logout")
    .description("Forget the sign-in at a server.")
    .argument("<name>", "its name")
    .action(async (name) => {
      const { runMcpLogout } = await import("./run-mcp-login.ts");
      await runMcpLogout(name);
    });

const serveCommand = () =>
  new Command("serve")
    .description("Be one MCP server with the tools of all of them: on stdio, or over HTTP.")
    .option("--port <n>", "over HTTP, on this port, at /mcp; 0 picks a free one", portNumber)
    .option("--host <address>", "address to listen on; beyond loopback the key must be strong")
    .option("--json", "print the ready line as JSON", false)
    .addHelpText(
      "after",
      `
Over HTTP the key of the gateway is needed (excursor key), or one that was given out (excursor keys).`,
    )
    .action(async (flags) => {
      const { runMcpServe } = await import("./run-mcp-serve.ts");
      await runMcpServe(flags);
    });

const SUBCOMMANDS = [
  listCommand,
  addCommand,
  removeCommand,
  importCommand,
  approveCommand,
  testCommand,
  callCommand,
  loginCommand,
  logoutCommand,
  serveCommand,
];

export const mcpCommand = () => {
  const command = new Command("mcp").description("The MCP servers whose tools Excursor runs for a model.").addHelpText(
    "after",
    `
  excursor mcp add memory -- npx -y @modelcontextprotocol/server-memory
  excursor mcp add docs --url https://docs.example/mcp
  excursor mcp login docs              # if it asks for a sign-in
  excursor mcp list
  excursor mcp call memory/read_graph
  excursor serve --tools hub           # every answer may use them`,
  );
  for (const subcommand of SUBCOMMANDS) command.addCommand((subcommand() as Command).exitOverride());
  return command;
};
