import type { ToolDefinition } from "../../../../core/turn.ts";
import { takesFreeText } from "./fit-tool.ts";

/** True for Codex's `exec`, which takes JavaScript as free text. Its shell is a function of the script. */
export const isScriptTool = (tool: ToolDefinition): boolean =>
  takesFreeText(tool) && tool.description.includes("tools.exec_command");

/** How long the script may run before Codex returns partial output, and how long each of its waits takes. */
const SCRIPT_MS = 600_000;
const WAIT_MS = 30_000;

/** Returns a script that runs one command to its end and reports the outcome in the format of Codex's own shell. */
export function commandScript(command: string, workingDirectory: string): string {
  const args = { cmd: command, ...(workingDirectory !== "" && { workdir: workingDirectory }), yield_time_ms: WAIT_MS };
  return `// @exec: ${JSON.stringify({ yield_time_ms: SCRIPT_MS })}
let ran = await tools.exec_command(${JSON.stringify(args)});
let output = ran.output;
while (ran.session_id != null) {
  ran = await tools.write_stdin({ session_id: ran.session_id, yield_time_ms: ${WAIT_MS} });
  output += ran.output;
}
text(\`Exit code: \${ran.exit_code ?? 1}\\nWall time: \${ran.wall_time_seconds} seconds\\nOutput:\\n\${output}\`);`;
}
