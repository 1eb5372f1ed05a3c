import { constants, rmSync, statSync } from "node:fs";
import { copyFile, mkdtemp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { openHome } from "../../config/home.ts";
import { ExcursorError } from "../../core/errors.ts";
import { ideStateFile, type Machine } from "../cursor-paths.ts";
import { checkForeign, tokenFrom, unreadable } from "../foreign-file.ts";
import type { CredentialSource } from "../source.ts";

export interface CursorIdeOptions extends Machine {
  /** Where the copy is made. It is private, and usually on the same disk, where a copy is cheap. */
  readonly home: string;
}

const COPY_PREFIX = "ide-copy-";
/** The IDE may write during a copy, so the copy is repeated. */
const ATTEMPTS = 5;
const ABANDONED_MS = 60_000;

/** The database in which the IDE keeps its login. A copy is read, because the IDE has the original open. */
export function createCursorIdeSource(options: CursorIdeOptions): CredentialSource {
  const path = ideStateFile(options);
  return {
    id: "cursor-ide",
    place: path,
    async find() {
      if (!stampOf(path)) return undefined;
      checkForeign(path);
      const items = await readItems(path, options.home);
      const access = tokenFrom(items.get("cursorAuth/accessToken"), path);
      if (!access) return undefined;
      const refresh = tokenFrom(items.get("cursorAuth/refreshToken"), path);
      return { login: { access, refresh, apiKey: undefined }, isForeign: true };
    },
  };
}

async function readItems(path: string, home: string): Promise<ReadonlyMap<string, string>> {
  openHome(home);
  await sweep(home);
  for (let attempt = 1; ; attempt++) {
    const folder = await mkdtemp(join(home, COPY_PREFIX));
    try {
      if ((await copyWhole(path, folder)) || attempt === ATTEMPTS) return await query(join(folder, "state.vscdb"));
    } catch (error) {
      if (attempt < ATTEMPTS && isSqliteError(error)) continue;
      throw isSqliteError(error) ? damaged(path) : unreadable(path, error);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/**
 * Copies the database and its write-ahead log. Returns false if either changed meanwhile, so that they may not match.
 */
async function copyWhole(path: string, folder: string): Promise<boolean> {
  const stamps = () => [path, `${path}-wal`].map(stampOf).join();
  const before = stamps();
  await copyFile(path, join(folder, "state.vscdb"), constants.COPYFILE_FICLONE);
  await copyFile(`${path}-wal`, join(folder, "state.vscdb-wal"), constants.COPYFILE_FICLONE).catch((error) => {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  });
  return stamps() === before;
}

async function query(path: string): Promise<ReadonlyMap<string, string>> {
  const { DatabaseSync } = await import("node:sqlite");
  const connection = new DatabaseSync(path);
  try {
    const rows = connection.prepare("SELECT key, value FROM ItemTable WHERE key LIKE 'cursorAuth/%'").all();
    return new Map(rows.map(({ key, value }) => [String(key), textOf(value)]));
  } finally {
    connection.close();
  }
}

const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value ?? "");

function stampOf(path: string): string | undefined {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unreadable(path, error);
  }
}

/** Deletes copies that a killed process left behind. */
async function sweep(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(COPY_PREFIX)) continue;
    const madeAt = statSync(join(home, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - madeAt > ABANDONED_MS) rmSync(join(home, name), { recursive: true, force: true });
  }
}

const isSqliteError = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ERR_SQLITE_ERROR";

const damaged = (path: string): ExcursorError => new ExcursorError("source_damaged", [path]);
