import { hash } from "node:crypto";
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
import { UnreadableConfig } from "./unreadable.ts";

interface Backup {
  readonly file: string;
  /** In base64; absent if there was no file. */
  readonly before?: string;
  readonly mode?: number;
  /** The digest of what was written, so that later changes by others are detected. */
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
    const original = digestOf(before === undefined ? undefined : Buffer.from(before, "base64"));
    return { id, file, isChanged: ![after, original].includes(digestOf(readBytes(file))) };
  }

  /**
   * Changes a client's configuration. A second call starts again from the content before the first one. Returns a
   * function that undoes this change.
   */
  connect(id: string, path: string, edit: (text: string) => string): () => void {
    const known = this.#read(id);
    const client = this.find(id);
    if (client?.isChanged) throw changed(client);
    if (client && client.file !== realPath(path)) throw elsewhere(client);
    const kept = known ?? takeBackup(realPath(path));
    const before = Buffer.from(kept.before ?? "", "base64");
    const after = Buffer.from(editText(kept.file, before.toString("utf8"), edit));
    makeFolder(this.#folder, 0o700);
    const backup: Backup = { ...kept, after: digestOf(after) };
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
   * Restores the previous content byte for byte, or deletes the file if there was none. With `force`, overwrites any
   * later change.
   */
  disconnect(id: string, { force = false }: { readonly force?: boolean } = {}): ConnectedClient | undefined {
    const backup = this.#read(id);
    const client = this.find(id);
    if (!backup || !client) return undefined;
    if (client.isChanged && !force) throw changed(client);
    const { file, before, mode, folders } = backup;
    if (client.isChanged) keepAside(file);
    if (before === undefined) rmSync(file, { force: true });
    else write(file, Buffer.from(before, "base64"), mode);
    for (const folder of folders) removeIfEmpty(folder);
    rmSync(this.#pathOf(id), { force: true });
    return client;
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

const digestOf = (bytes: Buffer | undefined): string => (bytes ? hash("sha256", bytes, "hex") : "none");

const elsewhere = ({ id, file }: ConnectedClient): ExcursorError =>
  new ExcursorError("connected_elsewhere", [id, file, id]);

const changed = ({ id, file }: ConnectedClient): ExcursorError =>
  new ExcursorError("client_config_changed", [file, id, id]);
