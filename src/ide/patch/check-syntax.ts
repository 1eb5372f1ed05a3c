import { ExcursorError } from "../../core/errors.ts";
import type { IdeHost } from "../host.ts";

/**
 * Checks the syntax of a file without running it. Uses a separate process, because V8 needs several times the memory
 * that we do.
 */
export async function checkSyntax({ run, signal }: IdeHost, path: string): Promise<void> {
  const { code, output } = await run(process.execPath, ["--check", path]);
  signal.throwIfAborted();
  if (code === 0) return;
  const [reason] = /^\w*Error: .*$/m.exec(output) ?? [];
  throw new ExcursorError("ide_bad_syntax", [reason ?? `exit code ${code}`]);
}
