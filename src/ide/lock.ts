import { randomBytes } from "node:crypto";
import { ExcursorError } from "../core/errors.ts";
import { removeFile, TEMPORARY } from "./durable-file.ts";
import type { IdeFiles } from "./ide-files.ts";

/** Who holds a lock. The number alone would not do: in a container every process may have the same one. */
const SELF = { pid: process.pid, nonce: randomBytes(8).toString("hex") };
type Holder = typeof SELF;

/** One patcher at a time. The lock of a process that is gone is broken. */
export async function withLock<T>(files: IdeFiles, path: string, work: () => Promise<T>): Promise<T> {
  take(files, path);
  try {
    return await work();
  } finally {
    removeFile(files, path);
  }
}

/** A file beside the lock that a process makes before it has it, and may leave behind when it dies. */
export function isAwaitingLock(name: string): boolean {
  const [, pid] = /^lock\.excursor-(\d+)-/.exec(name) ?? [];
  return pid !== undefined && isRunning(Number(pid));
}

function take(files: IdeFiles, path: string): void {
  const own = `${path}${TEMPORARY}${SELF.pid}-${randomBytes(8).toString("hex")}`;
  const file = files.openSync(own, "wx", 0o600);
  try {
    files.writeSync(file, `${SELF.pid} ${SELF.nonce}`);
  } finally {
    files.closeSync(file);
  }
  let isOurs = false;
  try {
    // A link, unlike an exclusive open, comes into being with its content.
    isOurs = link(files, own, path);
    if (!isOurs) {
      const holder = holderOf(files, path);
      if (holder && isAlive(holder)) throw taken(path, holder);
      breakLock(files, path, own, holder);
      isOurs = link(files, own, path);
    }
    if (!isOurs) throw taken(path, holderOf(files, path));
  } finally {
    forget(files, own);
  }
}

/** Of two that find the same dead lock only one can move it away; the other may have moved that one's new lock. */
function breakLock(files: IdeFiles, path: string, own: string, dead: Holder | undefined): void {
  const stale = `${own}.stale`;
  files.renameSync(path, stale);
  const moved = holderOf(files, stale);
  const isDead = moved?.nonce === dead?.nonce;
  if (!isDead) link(files, stale, path);
  forget(files, stale);
  if (!isDead) throw taken(path, moved);
}

function link(files: IdeFiles, own: string, path: string): boolean {
  try {
    files.linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** What cannot be taken away now is tidied up some other time: the lock is what counts. */
function forget(files: IdeFiles, path: string): void {
  try {
    removeFile(files, path);
  } catch {
    // As said.
  }
}

function holderOf(files: IdeFiles, path: string): Holder | undefined {
  try {
    const [pid = "", nonce = ""] = files.readFileSync(path, "utf8").split(" ");
    return /^\d{1,10}$/.test(pid) ? { pid: Number(pid), nonce } : undefined;
  } catch {
    return undefined;
  }
}

const isAlive = ({ pid, nonce }: Holder): boolean => (pid === SELF.pid ? nonce === SELF.nonce : isRunning(pid));

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It lives, but is not ours to signal.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const taken = (path: string, holder: Holder | undefined): ExcursorError =>
  new ExcursorError("busy", `Another excursor is changing an app right now (process ${holder?.pid ?? "unknown"}).`, {
    code: "ide_locked",
    hint: `Wait until it is done, then try again. If that process is something else, delete ${path}.`,
  });
