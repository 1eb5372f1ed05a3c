import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openHome } from "../../config/home.ts";

/** A capture that a gateway writes now. */
export interface RunningCapture {
  readonly pid: number;
  readonly file: string;
}

const SUFFIX = ".running";
const folderOf = (home: string): string => join(home, "captures");

/** Notes in the home folder that this process records. Returns a function that removes the note. */
export function markRunning(home: string, file: string): () => void {
  openHome(home);
  openHome(folderOf(home));
  for (const { mark, isRunning } of marksIn(home)) if (!isRunning) rmSync(mark, { force: true });
  const mark = join(folderOf(home), `${process.pid}${SUFFIX}`);
  writeFileSync(mark, file, { mode: 0o600 });
  return () => rmSync(mark, { force: true });
}

/** Returns the captures that are written now. Notes of processes that were killed do not count. */
export function runningCaptures(home: string): readonly RunningCapture[] {
  return marksIn(home).flatMap(({ mark, pid, isRunning }) =>
    isRunning ? [{ pid, file: readFileSync(mark, "utf8") }] : [],
  );
}

function marksIn(home: string) {
  const names = existsSync(folderOf(home)) ? readdirSync(folderOf(home)) : [];
  return names.flatMap((name) => {
    const pid = Number(/^(\d{1,10})\.running$/.exec(name)?.[1]);
    return pid > 0 ? [{ mark: join(folderOf(home), name), pid, isRunning: isAlive(pid) }] : [];
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
