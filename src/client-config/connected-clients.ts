import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";
import { writePrivate } from "../files/write-private.ts";
import { undoEdit } from "./undo-edit.ts";
import { UnreadableConfig } from "./unreadable.ts";

interface Backup {
  readonly file: string;
  /** In base64; absent if there was no file. */
  readonly before?: string;
  readonly mode?: number;
  /** What was written, in base64, so that it can be told from later changes. */
  readonly after: string;
  /** Folders that were created for it, inner ones first. */
  readonly folders: readonly string[];
}

export interface ConnectedClient {
  readonly id: string;
  readonly file: string;
  /** The file was changed by something else since. */
  readonly isChanged: boolean;
}

/**
 * The clients that are connected, each with its previous configuration in a file of its own. A configuration is written
 * only after its backup.
 */
export class ConnectedClients {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  list(): readonly ConnectedClient[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length))
      .flatMap((id) => this.find(id) ?? []);
  }

  find(id: string): ConnectedClient | undefined {
    const backup = this.#read(id);
    if (!backup) return undefined;
    const { file, before, after } = backup;
    // The original content is fine, too: connecting was interrupted, or the user has undone it by hand.
    return { id, file, isChanged: ![after, before].includes(readBytes(file)?.toString("base64")) };
  }

  /** Returns the connected clients whose configuration names this address. */
  pointingAt(url: string): readonly ConnectedClient[] {
    return this.list().filter(({ file }) => readBytes(file)?.includes(url));
  }

  /**
   * Changes a client's configuration. A second call starts again from the content before the first one, with what was
   * changed since. Returns a function that undoes this change.
   */
  connect(id: string, path: string, edit: (text: string) => string): () => void {
    const known = this.#read(id);
    const client = this.find(id);
    if (client && client.file !== realPath(path)) throw elsewhere(client);
    const kept = known ? this.#withLaterChanges(known) : takeBackup(realPath(path));
    const before = Buffer.from(kept.before ?? "", "base64");
    const after = Buffer.from(editText(kept.file, before.toString("utf8"), edit));
    makeFolder(this.#folder, 0o700);
    const backup: Backup = { ...kept, after: after.toString("base64") };
    write(this.#pathOf(id), `${JSON.stringify(backup)}\n`);
    makeFolder(dirname(kept.file));
    const written = readBytes(kept.file);
    write(kept.file, after);
    return () => {
      if (!known || !written) {
        this.disconnect(id);
        return;
      }
      write(kept.file, written);
      write(this.#pathOf(id), `${JSON.stringify(known)}\n`);
    };
  }

  /**
   * Takes what `connect` wrote out of the configuration, and leaves every later change in it. Without one the previous content
   * comes back byte for byte, or the file is deleted if there was none. With `fromBackup` the previous content comes back in any
   * case, and a file that was changed is kept beside it.
   */
  disconnect(id: string, { fromBackup = false }: { readonly fromBackup?: boolean } = {}): ConnectedClient | undefined {
    const backup = this.#read(id);
    const client = this.find(id);
    if (!backup || !client) return undefined;
    const { file, mode, folders } = backup;
    if (client.isChanged && fromBackup) keepAside(file);
    const { before } = fromBackup ? backup : this.#withLaterChanges(backup);
    if (before === undefined) rmSync(file, { force: true });
    else write(file, Buffer.from(before, "base64"), mode);
    for (const folder of folders) removeIfEmpty(folder);
    rmSync(this.#pathOf(id), { force: true });
    return client;
  }

  /** Returns the backup with the content that the file would have now if it had never been connected. */
  #withLaterChanges({ before, after, ...backup }: Backup): Backup {
    const { file } = backup;
    const now = readBytes(file);
    const current = now?.toString("base64");
    if (current === after || current === before) return { ...backup, after, ...(before !== undefined && { before }) };
    // The user or the client has deleted it.
    if (!now) return { ...backup, after };
    const text = (base64 = "") =>
      Buffer.from(base64, "base64")
        .toString("utf8")
        .replace(/^\ufeff/, "");
    const left = editText(file, now.toString("utf8"), (content) =>
      undoEdit(file, { before: text(before), after: text(after), now: content }),
    );
    if (before === undefined && left.trim() === "") return { ...backup, after };
    return { ...backup, after, before: Buffer.from(left).toString("base64") };
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #read(id: string): Backup | undefined {
    const bytes = readBytes(this.#pathOf(id));
    return bytes && (JSON.parse(bytes.toString("utf8")) as Backup);
  }
}

const BOM = "\ufeff";

/** Hides the byte order mark that some editors on Windows write, and keeps it. */
function editText(file: string, text: string, edit: (text: string) => string): string {
  const mark = text.startsWith(BOM) ? BOM : "";
  try {
    return mark + edit(text.slice(mark.length));
  } catch (error) {
    throw error instanceof UnreadableConfig ? error.in(file) : error;
  }
}

function takeBackup(file: string): Omit<Backup, "after"> {
  const bytes = readBytes(file);
  if (!bytes) return { file, folders: missingFolders(dirname(file)) };
  return { file, before: bytes.toString("base64"), mode: statSync(file).mode & 0o777, folders: [] };
}

function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, { recursive: true, ...(mode !== undefined && { mode }) });
  } catch (error) {
    throw fileError(error, `create the folder ${path}`);
  }
}

/** Resolves links, so that a configuration that is a link into a repository stays a link. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path;
    throw new ExcursorError("dangling_link", [path]);
  }
}

function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The client has created files there.
  }
}

function keepAside(file: string): void {
  const bytes = readBytes(file);
  if (bytes) write(`${file}.before-disconnect`, bytes);
}

/** Writes without a lock, because the client would not know it. */
const write = (file: string, content: Buffer | string, mode = 0o600): void =>
  writePrivate(file, content, { mode, isUnlocked: true });

function readBytes(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(error, `read ${file}`, "forbidden");
  }
}

const elsewhere = ({ id, file }: ConnectedClient): ExcursorError =>
  new ExcursorError("connected_elsewhere", [id, file, id]);
