import { Command } from "@commander-js/extra-typings";
import { acpCommand } from "./acp.ts";
import { chatCommand } from "./chat.ts";
import { configCommand } from "./config.ts";
import { connectCommand } from "./connect.ts";
import { disconnectCommand } from "./disconnect.ts";
import { doctorCommand } from "./doctor.ts";
import { envCommand } from "./env.ts";
import { ideCommand } from "./ide.ts";
import { keyCommand } from "./key.ts";
import { keysCommand } from "./keys.ts";
import { loginCommand } from "./login.ts";
import { logoutCommand } from "./logout.ts";
import { mcpCommand } from "./mcp.ts";
import { modelsCommand } from "./models.ts";
import { serveCommand } from "./serve.ts";
import { simCommand } from "./sim.ts";
import { version } from "./version.ts";
import { whoamiCommand } from "./whoami.ts";

/** In the order in which users meet them. */
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

/**
 * Creates the command line without running it. Each command's file declares its flags and loads the body on use, so
 * that `--help` stays fast.
 */
export function createProgram(): Command {
  const program = new Command("excursor")
    .description("A two-way bridge between Cursor and everything else.")
    .version(version())
    .exitOverride();
  // The cast drops the types of the flags, which differ from command to command.
  for (const command of COMMANDS) program.addCommand((command() as Command).copyInheritedSettings(program));
  return program;
}
