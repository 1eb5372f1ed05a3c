import { Command, Option } from "@commander-js/extra-typings";
import { portNumber } from "../option-values.ts";

const listCommand = () =>
  new Command("list")
    .description("List the servers, connect to each and count its tools.")
    .option("--json", "print JSON", false)
    .action(async (flags) => (await import("../actions/mcp/list.ts")).runMcpList(flags));

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

const addCommand = () =>
  new Command("add")
    .description("Add a server: a local program or a URL.")
    .argument("<name>", "name for the server")
    .argument("[command...]", "program and its arguments, after --")
    .option("--url <url>", "URL of a remote server")
    .addOption(
      new Option("--type <transport>", "transport of a remote server; without it, both are tried").choices([
        "http",
        "sse",
      ]),
    )
    .option("--header <name: value>", "header for every request; can be repeated", collect, [])
    .option("--env <NAME=value>", "environment variable for the program; can be repeated", collect, [])
    .option("--cwd <folder>", "working directory of the program")
    .option("--force", "replace a server of the same name", false)
    .action(async (name, command, flags) => (await import("../actions/mcp/edit.ts")).runMcpAdd(name, command, flags));

const removeCommand = () =>
  new Command("remove")
    .description("Remove a server.")
    .argument("<name>", "name of the server")
    .action(async (name) => (await import("../actions/mcp/edit.ts")).runMcpRemove(name));

const importCommand = () =>
  new Command("import")
    .description("Import servers from Cursor's mcp.json, or from another file of that format.")
    .argument("[names...]", "servers to import; without it, all that are missing here")
    .option("--from <file>", "file to import from; default: ~/.cursor/mcp.json")
    .action(async (names, flags) => (await import("../actions/mcp/edit.ts")).runMcpImport(names, flags));

const approveCommand = () =>
  new Command("approve")
    .description(
      "Approve servers from this folder's .mcp.json or .cursor/mcp.json, and tools whose definition a server has changed.",
    )
    .argument(
      "[names...]",
      "SERVER, or SERVER/TOOL for one changed tool; without it, everything that needs approval is listed",
    )
    .action(async (names) => (await import("../actions/mcp/edit.ts")).runMcpApprove(names));

const testCommand = () =>
  new Command("test")
    .description("Connect to one server and show what it offers.")
    .argument("<name>", "name of the server")
    .option("--json", "print JSON", false)
    .action(async (name, flags) => (await import("../actions/mcp/test.ts")).runMcpTest(name, flags));

const callCommand = () =>
  new Command("call")
    .description("Call one tool and print its result.")
    .argument("<tool>", "SERVER/TOOL, or the tool's name in the catalogue")
    .argument("[arguments]", "JSON object with the arguments; - reads it from stdin", "{}")
    .option("--json", "print the whole result as JSON", false)
    .action(async (tool, args, flags) => (await import("../actions/mcp/call.ts")).runMcpCall(tool, args, flags));

const loginCommand = () =>
  new Command("login")
    .description("Sign in to a server in the browser. The sign-in is stored and renewed automatically.")
    .argument("<name>", "name of the server")
    .option("--no-browser", "print the sign-in URL without opening a browser")
    .option("--json", "print JSON lines: the sign-in URL, then the server", false)
    .action(async (name, flags) => (await import("../actions/mcp/login.ts")).runMcpLogin(name, flags));

const logoutCommand = () =>
  new Command("logout")
    .description("Delete the stored sign-in to a server.")
    .argument("<name>", "name of the server")
    .action(async (name) => (await import("../actions/mcp/login.ts")).runMcpLogout(name));

const serveCommand = () =>
  new Command("serve")
    .description("Run one MCP server that offers the tools of all servers, on stdio or over HTTP.")
    .option("--port <n>", "serve over HTTP on this port, at /mcp; 0 picks a free port", portNumber)
    .option("--host <address>", "address to listen on; an address other than loopback requires a strong key")
    .option("--json", "print the ready line as JSON", false)
    .addHelpText(
      "after",
      `
Over HTTP, clients need the gateway's key (excursor key) or one of the keys for other users (excursor keys).`,
    )
    .action(async (flags) => (await import("../actions/mcp/serve.ts")).runMcpServe(flags));

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
  const command = new Command("mcp")
    .description("Manage the MCP servers whose tools the gateway runs for models.")
    .addHelpText(
      "after",
      `
  excursor mcp add memory -- npx -y @modelcontextprotocol/server-memory
  excursor mcp add docs --url https://docs.example/mcp
  excursor mcp login docs              # if the server requires a sign-in
  excursor mcp list
  excursor mcp call memory/read_graph
  excursor serve --tools hub           # offer their tools to every model`,
    );
  for (const subcommand of SUBCOMMANDS) command.addCommand((subcommand() as Command).exitOverride());
  return command;
};
