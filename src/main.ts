import { Command, CommanderError } from "@commander-js/extra-typings";
import { acpCommand } from "./cli/acp.ts";
import { chatCommand } from "./cli/chat.ts";
import { configCommand } from "./cli/config.ts";
import { connectCommand } from "./cli/connect.ts";
import { disconnectCommand } from "./cli/disconnect.ts";
import { doctorCommand } from "./cli/doctor.ts";
import { envCommand } from "./cli/env.ts";
import { ideCommand } from "./cli/ide.ts";
import { keyCommand } from "./cli/key.ts";
import { keysCommand } from "./cli/keys.ts";
import { loginCommand } from "./cli/login.ts";
import { logoutCommand } from "./cli/logout.ts";
import { mcpCommand } from "./cli/mcp.ts";
import { modelsCommand } from "./cli/models.ts";
import { reportError } from "./cli/report-error.ts";
import { serveCommand } from "./cli/serve.ts";
import { simCommand } from "./cli/sim.ts";
import { tuneHeap } from "./cli/tune-heap.ts";
import { version } from "./cli/version.ts";
import { whoamiCommand } from "./cli/whoami.ts";

/** In the order that people need them. */
const COMMANDS = [
  loginCommand,
  serveCommand,
  chatCommand,
  modelsCommand,
  connectCommand,
  disconnectCommand,
  whoamiCommand,
  logoutCommand,
  keyCommand,
  keysCommand,
  mcpCommand,
  envCommand,
  configCommand,
  ideCommand,
  acpCommand,
  doctorCommand,
  simCommand,
];

/** The command line. One file a command in `cli/`; their bodies are loaded when they run. */
export async function main(argv: readonly string[]): Promise<void> {
  tuneHeap();
  // Whoever reads our output may stop reading: that ends no gateway, and is no error of ours.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // What nobody caught would be printed as it is, with whatever stands in it.
  process.on("uncaughtException", (error) => process.exit(reportError(error)));
  const program = new Command("excursor")
    .description("A two-way bridge between Cursor and everything else.")
    .version(version())
    .exitOverride();
  for (const command of COMMANDS) {
    // Each has its own types of flags, which are nobody's business here.
    program.addCommand((command() as Command).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync(argv);
  } catch (error) {
    // Commander has said what was wrong by itself.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else process.exitCode = reportError(error);
  }
}
