import { ExcursorError } from "../core/errors.ts";
import type { IdeHost } from "./host.ts";

/** V8 reads the whole file, in a process of its own: it needs several times the memory that we do. Nothing is run. */
export async function checkSyntax({ run, signal }: IdeHost, path: string): Promise<void> {
  const { code, output } = await run(process.execPath, ["--check", path]);
  signal.throwIfAborted();
  if (code === 0) return;
  const [reason] = /^\w*Error: .*$/m.exec(output) ?? [];
  throw new ExcursorError("invalid-request", `The patched bundle would not run: ${reason ?? `exit code ${code}`}.`, {
    code: "ide_bad_syntax",
    hint: "This version of Cursor is not one that Excursor knows. Nothing was changed.",
  });
}
