import { createProcessLock } from "../files/process-lock.ts";
import { OtherVersion } from "./schema-version.ts";
import { isCorrupt } from "./sqlite-failure.ts";
import { prepareStateFile, putAside, replaceAside } from "./state-file.ts";

export interface OpenedFile<T> {
  readonly path: string;
  /** What messages call it, such as `state file`. */
  readonly name: string;
  /** Opens it or throws, and then leaves no connection open. */
  readonly open: () => T;
  /** Called if the file was put aside. */
  readonly onAside: (text: string) => void;
}

/**
 * Opens a database file. A file that is damaged or of another version is renamed, and a new one begun. Of several processes that
 * open it at the same time, one renames it.
 */
export async function openOrPutAside<T>({ path, name, open, onAside }: OpenedFile<T>): Promise<T> {
  prepareStateFile(path);
  try {
    return open();
  } catch (error) {
    if (!isForeign(error)) throw error;
  }
  return createProcessLock(`${path}.lock`).run(() => {
    prepareStateFile(path);
    try {
      return open();
    } catch (error) {
      if (!isForeign(error)) throw error;
      const isOther = error instanceof OtherVersion;
      const aside = isOther ? putAside(path, `version-${error.version}`) : replaceAside(path, "corrupt");
      const what = isOther ? "is of another version of Excursor" : "was damaged";
      onAside(`The ${name} ${what}: it is now ${aside}, and a new one was begun.`);
    }
    prepareStateFile(path);
    return open();
  });
}

const isForeign = (error: unknown): boolean => error instanceof OtherVersion || isCorrupt(error);
