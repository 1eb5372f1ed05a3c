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
      return new ExcursorError("forbidden", `You do not have permission to change this Cursor${where}.`, {
        code: "ide_no_rights",
        hint: remedyFor(attempt),
        cause: thrown,
      });
    case "EROFS":
      return new ExcursorError("forbidden", `This Cursor is on a read-only file system${where}.`, {
        code: "ide_read_only",
        hint: "Unpack an AppImage first: run it with --appimage-extract, then name squashfs-root with --app.",
        cause: thrown,
      });
    case "ENOSPC":
    case "EDQUOT":
      return new ExcursorError("io", `The disk is full${where}.`, {
        code: "ide_disk_full",
        hint: "A patch temporarily needs about twice the size of Cursor's bundles. Free some space, then try again.",
        cause: thrown,
      });
    case "EBUSY":
    case "ETXTBSY":
      return new ExcursorError("busy", `Another program has a file of Cursor's open${where}.`, {
        code: "ide_in_use",
        hint: "Quit Cursor completely, then try again.",
        cause: thrown,
      });
    default:
      // Not a file system error: an abort or a bug.
      if (typeof code !== "string") return thrown;
      return new ExcursorError("io", `A file could not be read or written: ${code}${where}.`, {
        code: "ide_io",
        cause: thrown,
      });
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
