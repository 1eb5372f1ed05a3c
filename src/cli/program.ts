import { Command } from "@commander-js/extra-typings";
import { loginCommand } from "./commands/account/login.ts";
import { logoutCommand } from "./commands/account/logout.ts";
import { whoamiCommand } from "./commands/account/whoami.ts";
import { acpCommand } from "./commands/acp.ts";
import { chatCommand } from "./commands/chat.ts";
import { configCommand } from "./commands/config.ts";
import { connectCommand } from "./commands/connect.ts";
import { disconnectCommand } from "./commands/disconnect.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { envCommand } from "./commands/env.ts";
import { ideCommand } from "./commands/ide.ts";
import { completionCommand } from "./commands/install/completion.ts";
import { resetCommand } from "./commands/install/reset.ts";
import { serviceCommand } from "./commands/install/service.ts";
import { setupCommand } from "./commands/install/setup.ts";
import { updateCommand } from "./commands/install/update.ts";
import { keyCommand } from "./commands/key.ts";
import { keysCommand } from "./commands/keys/keys.ts";
import { limitsCommand } from "./commands/keys/limits.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { modelsCommand } from "./commands/models.ts";
import { nodesCommand } from "./commands/nodes.ts";
import { captureCommand } from "./commands/protocol/capture.ts";
import { driftCommand } from "./commands/protocol/drift.ts";
import { inspectCommand } from "./commands/protocol/inspect.ts";
import { replayCommand } from "./commands/protocol/replay.ts";
import { reportCommand } from "./commands/protocol/report.ts";
import { simCommand } from "./commands/protocol/sim.ts";
import { runCommand } from "./commands/run.ts";
import { serveCommand } from "./commands/serve.ts";
import { uiCommand } from "./commands/ui.ts";
import { usageCommand } from "./commands/usage.ts";
import { version } from "./version.ts";

/** In the order of `--help`. */
const COMMANDS = [
  setupCommand,
  loginCommand,
  serveCommand,
  serviceCommand,
  uiCommand,
  runCommand,
  chatCommand,
  modelsCommand,
  connectCommand,
  disconnectCommand,
  whoamiCommand,
  logoutCommand,
  keyCommand,
  keysCommand,
  limitsCommand,
  usageCommand,
  nodesCommand,
  mcpCommand,
  envCommand,
  configCommand,
  ideCommand,
  acpCommand,
  doctorCommand,
  reportCommand,
  updateCommand,
  resetCommand,
  completionCommand,
  simCommand,
  captureCommand,
  inspectCommand,
  replayCommand,
  driftCommand,
];

/**
 * Creates the command line without running it. Each command's file declares its flags and loads the body on use, so
 * that `--help` stays fast.
 */
export function createProgram(): Command {
  const program = new Command("excursor")
    .description("A two-way bridge between Cursor and everything else.")
    .version(version())
    // Commands and their subcommands may have options of the same name.
    .enablePositionalOptions()
    .exitOverride();
  // The cast drops the types of the flags, which differ from command to command.
  for (const command of COMMANDS) program.addCommand((command() as Command).copyInheritedSettings(program));
  return program;
}
