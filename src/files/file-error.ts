import { type ErrorName, ExcursorError } from "../core/errors.ts";

const DISK_FAULTS: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOSPC: ["the disk is full", "Free some space there, then try again."],
  EDQUOT: ["the disk quota is exhausted", "Free some space there, then try again."],
  EIO: ["the disk reports an error", "Check the disk and the system's log."],
  EROFS: ["the file system is read-only", "Make it writable, or use another folder."],
  EMFILE: ["too many files are open", "Raise the limit of open files (ulimit -n), then try again."],
  ENFILE: ["too many files are open on this machine", "Close some programs, then try again."],
};

/** The same faults by SQLite's result codes. */
const SQLITE_FAULTS: Readonly<Record<number, string>> = { 8: "EROFS", 10: "EIO", 13: "ENOSPC" };

/**
 * Converts a failure of the file system or of SQLite: `Cannot write /home/me/key: the disk is full (ENOSPC).` A fault of the
 * disk has kind `io`. Other failures have the given name, or else `forbidden` or `config`.
 */
export function fileError(thrown: unknown, action: string, other?: ErrorName): ExcursorError {
  if (thrown instanceof ExcursorError) return thrown;
  const name = faultName(thrown);
  const fault = DISK_FAULTS[name];
  if (fault) {
    const [what, hint] = fault;
    return new ExcursorError("io", `Cannot ${action}: ${what} (${name}).`, { hint, cause: thrown });
  }
  const isDenied = name === "EACCES" || name === "EPERM";
  return new ExcursorError(other ?? (isDenied ? "forbidden" : "config"), `Cannot ${action} (${name}).`, {
    cause: thrown,
  });
}

/** Converts a raw failure of the file system. Returns undefined for any other error. */
export function asFileError(thrown: unknown): ExcursorError | undefined {
  if (!(thrown instanceof Error) || thrown instanceof ExcursorError) return undefined;
  const { path, syscall } = thrown as NodeJS.ErrnoException;
  if (typeof path === "string" && syscall !== undefined) return fileError(thrown, `use ${path}`);
  return Object.hasOwn(DISK_FAULTS, faultName(thrown)) ? fileError(thrown, "write a file") : undefined;
}

function faultName(thrown: unknown): string {
  const { code, errcode } = thrown as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === "number") return SQLITE_FAULTS[errcode & 0xff] ?? `SQLite ${errcode}`;
  return typeof code === "string" ? code : "unknown";
}
