import { completionScript, type Shell } from "../../completion/completion-script.ts";
import { completionTable } from "../../completion/completion-table.ts";
import { createProgram } from "../../program.ts";

export function printCompletion(shell: Shell): void {
  process.stdout.write(completionScript(shell, completionTable(createProgram())));
}
