import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import { removeFile, replaceFile, syncFolder, TEMPORARY, temporaryOf, writeNewFile } from "../../files/durable-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { type Digest, digestFile, digestOf } from "../app/digest.ts";
import { type Journal, type PatchRecord, parseJournal, parseRecord } from "./patch-record.ts";

/**
 * What the patcher keeps outside every app: original files, records of patches, and the journal of a change in
 * progress. Everything is verified by its digest when it is read (SEC-62).
 */
export class Store {
  readonly #files: FileSystem;
  readonly #folder: string;

  /** `home` must exist. */
  constructor(files: FileSystem, home: string) {
    this.#files = files;
    this.#folder = join(home, "ide");
  }

  open(): void {
    this.#files.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Returns the app's record; undefined if there is none or it is damaged. */
  record(root: string): PatchRecord | undefined {
    const record = parseRecord(this.#read(this.#recordPath(root)));
    return record?.root === root ? record : undefined;
  }

  /** Returns the records of all apps. Damaged ones are left out. */
  records(): readonly PatchRecord[] {
    return this.#list("records").flatMap((name) => parseRecord(this.#read(join(this.#folder, "records", name))) ?? []);
  }

  writeRecord(record: PatchRecord): void {
    this.#files.mkdirSync(join(this.#folder, "records"), { recursive: true, mode: 0o700 });
    replaceFile(this.#files, this.#recordPath(record.root), seal(record));
  }

  removeRecord(root: string): void {
    removeFile(this.#files, this.#recordPath(root));
  }

  /** Returns the change that was interrupted, if any. */
  journal(): Journal | undefined {
    const text = this.#read(this.#journalPath);
    if (text === undefined) return undefined;
    const journal = parseJournal(text);
    if (journal) return journal;
    throw new ExcursorError("ide_bad_journal", [this.#journalPath]);
  }

  writeJournal(journal: Journal): void {
    replaceFile(this.#files, this.#journalPath, seal(journal));
  }

  removeJournal(): void {
    removeFile(this.#files, this.#journalPath);
    syncFolder(this.#files, this.#folder);
  }

  /** Backs up a file, and verifies the copy on the disk before it returns. `digest` is that of the bytes. */
  keep(set: string, { bytes, digest }: { readonly bytes: Buffer; readonly digest: Digest }): void {
    const folder = join(this.#folder, "backups", set);
    const path = join(folder, digest);
    this.#files.mkdirSync(folder, { recursive: true, mode: 0o700 });
    syncFolder(this.#files, dirname(folder));
    if (digestFile(this.#files, path) === digest) return;
    const temporary = temporaryOf(path);
    writeNewFile(this.#files, temporary, [bytes]);
    if (digestFile(this.#files, temporary) !== digest) {
      removeFile(this.#files, temporary);
      throw new ExcursorError("ide_bad_backup", "The backup differs from what was written.");
    }
    this.#files.renameSync(temporary, path);
    syncFolder(this.#files, folder);
  }

  /** Returns a backed up file; undefined if it is missing or damaged. */
  kept(set: string, digest: Digest): Buffer | undefined {
    const path = join(this.#folder, "backups", set, digest);
    if (!this.#files.existsSync(path)) return undefined;
    const bytes = this.#files.readFileSync(path);
    return digestOf([bytes]) === digest ? bytes : undefined;
  }

  /** Deletes backups that no record needs, and temporary files that a killed process left. */
  tidy(): void {
    const needed = new Set(this.records().map((record) => record.backupSet));
    for (const set of this.#list("backups")) {
      if (!needed.has(set)) this.#files.rmSync(join(this.#folder, "backups", set), { recursive: true, force: true });
    }
    for (const folder of ["", "records", ...[...needed].map((set) => join("backups", set))]) {
      for (const name of this.#list(folder)) {
        if (name.includes(TEMPORARY)) removeFile(this.#files, join(this.#folder, folder, name));
      }
    }
  }

  #list(folder: string): readonly string[] {
    const path = join(this.#folder, folder);
    return this.#files.existsSync(path) ? this.#files.readdirSync(path) : [];
  }

  #read(path: string): string | undefined {
    try {
      return this.#files.readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  get #journalPath(): string {
    return join(this.#folder, "journal.json");
  }

  #recordPath(root: string): string {
    const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
    return join(this.#folder, "records", `${name}.json`);
  }
}

export function backupSetOf(version: string, commit: string): string {
  const safe = (text: string) => text.replace(/[^\w.-]/g, "_");
  return `${safe(version)}-${safe(commit).slice(0, 40) || "none"}`;
}

const seal = (body: object): string => {
  const text = JSON.stringify(body);
  return `${JSON.stringify({ digest: digestOf([Buffer.from(text)]), body: text })}\n`;
};
