import { dirname, posix, win32 } from "node:path";
import { ExcursorError } from "../../core/errors.ts";

/** A running program. `program` is its path, or only its name on Windows. */
export interface RunningProcess {
  readonly pid: number;
  readonly program: string;
}

const UPDATERS = /(^|[\\/])(ShipIt|inno_updater(\.exe)?|Cursor(User)?Setup[^\\/]*\.exe|CursorUpdate[^\\/]*\.exe)$/i;

/** Throws while the app or its updater runs. The app would not notice the patch, the updater would undo it (SEC-64). */
export function expectQuiet(root: string, running: readonly RunningProcess[]): void {
  const updater = running.find(({ program }) => UPDATERS.test(program));
  if (updater) throw busy("Cursor is being updated", updater, "Wait until the update is done, then try again.");
  const app = running.find(({ program }) => isOf(root, program));
  if (app) {
    throw busy("Cursor is running", app, "Quit Cursor completely, then run this in a terminal outside of it.");
  }
}

function isOf(root: string, program: string): boolean {
  // On Windows only the name is known.
  if (program === win32.basename(program) && program === posix.basename(program)) return /^cursor\.exe$/i.test(program);
  const install = /[\\/]resources[\\/]app$/i.test(root) ? dirname(dirname(root)) : root;
  return program.startsWith(`${install}/`);
}

const busy = (what: string, { pid }: RunningProcess, hint: string): ExcursorError =>
  new ExcursorError("ide_running", `${what} (process ${pid}).`, { hint });
