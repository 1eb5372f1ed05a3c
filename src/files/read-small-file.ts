import { lstatSync, readFileSync, statSync } from "node:fs";
import { type ErrorName, ExcursorError } from "../core/errors.ts";
import { fileError } from "./file-error.ts";

/**
 * Returns the text of a file without its byte order mark; undefined if there is no file. Throws if it is a dangling
 * link, not a file, or larger than `maxBytes`.
 */
export function readSmallFile(path: string, maxBytes: number, unreadable?: ErrorName): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats) {
      if (lstatSync(path, { throwIfNoEntry: false }))
        throw refused(path, "is a symbolic link to a file that does not exist");
      return undefined;
    }
    if (!stats.isFile()) throw refused(path, "is not a file");
    if (stats.size > maxBytes) throw refused(path, `has ${stats.size} bytes; at most ${maxBytes} are allowed`);
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw fileError(error, `read ${path}`, unreadable);
  }
}

const refused = (path: string, why: string): ExcursorError => new ExcursorError("unusable_file", `${path} ${why}.`);
