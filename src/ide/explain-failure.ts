import { ExcursorError } from "../core/errors.ts";

export interface Attempt {
  readonly platform: NodeJS.Platform;
  readonly verb: "patch" | "restore";
  readonly root: string;
}

/** Converts a file system error to one sentence with a hint. Returns anything else unchanged. */
export function explainFailure(thrown: unknown, attempt: Attempt): unknown {
  if (thrown instanceof ExcursorError || !(thrown instanceof Error)) return thrown;
  const { code, path } = thrown as NodeJS.ErrnoException;
  const where = path === undefined ? "" : ` (${path})`;
  switch (code) {
    case "EACCES":
    case "EPERM":
      return new ExcursorError("ide_no_rights", `You do not have permission to change this Cursor${where}.`, {
        hint: remedyFor(attempt),
        cause: thrown,
      });
    case "EROFS":
      return new ExcursorError("ide_read_only", `This Cursor is on a read-only file system${where}.`, {
        cause: thrown,
      });
    case "ENOSPC":
    case "EDQUOT":
      return new ExcursorError("ide_disk_full", `The disk is full${where}.`, { cause: thrown });
    case "EBUSY":
    case "ETXTBSY":
      return new ExcursorError("ide_in_use", `Another program has a file of Cursor's open${where}.`, { cause: thrown });
    default:
      // Not a file system error: an abort or a bug.
      if (typeof code !== "string") return thrown;
      return new ExcursorError("ide_io", `A file could not be read or written: ${code}${where}.`, { cause: thrown });
  }
}

function remedyFor({ platform, verb, root }: Attempt): string {
  const command = `excursor ide ${verb} --app`;
  switch (platform) {
    case "win32":
      return `Open a terminal with "Run as administrator", then run: ${command} "${root}"`;
    case "darwin":
      return (
        "Allow your terminal under System Settings, Privacy & Security, App Management, then try again. " +
        `If Cursor was installed by another user, run: sudo ${command} '${root}'`
      );
    default:
      return `Cursor is installed for all users. Run: sudo "$(command -v excursor)" ide ${verb} --app '${root}'`;
  }
}
