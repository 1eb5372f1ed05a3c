import { lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What Excursor writes into a folder. */
interface OwnFolder {
  readonly files?: RegExp;
  readonly folders?: readonly (readonly [name: RegExp, content: OwnFolder])[];
}

/** What is left of a file that was being written, its copy from before, its lock, SQLite's own, and files put aside. */
const MORE = String.raw`(?:\.previous|\.excursor-[0-9a-f]{16}|\.lock|-(?:wal|shm|journal)|\.(?:corrupt|version)[\w.-]*)*`;
const named = (names: string): RegExp => new RegExp(`^(?:${names})${MORE}$`);

const HOME: OwnFolder = {
  files: named(
    [
      "key|bridge-key|path-secret",
      "(?:config|accounts|keys|mcp|mcp-approvals|mcp-logins|mcp-tools)\\.json",
      "(?:accounts|keys|mcp|mcp-logins|ide)\\.lock",
      "(?:usage|state|state-[0-9a-f]{8})\\.db",
      "gateway-[0-9]{1,5}\\.door",
    ].join("|"),
  ),
  folders: [
    [/^connections$/, { files: named("[\\w-]+\\.json") }],
    [/^captures$/, { files: named("[0-9TZ-]+\\.capture|[0-9]{1,10}\\.running") }],
    [/^ide-copy-\w{6}$/, { files: named("[\\w.-]+") }],
    [
      /^ide$/,
      {
        files: named("[\\w-]+\\.json"),
        folders: [
          [/^records$/, { files: named("[\\w-]+\\.json") }],
          [/^backups$/, { folders: [[/^[\w.-]+$/, { files: named("[0-9a-f]{64}") }]] }],
        ],
      },
    ],
  ],
};

/** Returns the names in the home folder that are ours. A link is nobody's: what it leads to may be somebody else's. */
export const ownNames = (home: string): readonly string[] => namesIn(home).filter((name) => kindOf(home, name, HOME));

/** Removes one of our names from the home folder. A folder stays if it has files of others. */
export function removeOwn(home: string, name: string): void {
  remove(home, name, HOME);
}

function remove(parent: string, name: string, spec: OwnFolder): void {
  const path = join(parent, name);
  const kind = kindOf(parent, name, spec);
  if (kind === "file") rmSync(path, { force: true });
  if (kind === undefined || kind === "file") return;
  for (const inner of namesIn(path)) remove(path, inner, kind);
  removeIfEmpty(path);
}

export function removeIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function kindOf(parent: string, name: string, { files, folders = [] }: OwnFolder): "file" | OwnFolder | undefined {
  const stats = lstatSync(join(parent, name), { throwIfNoEntry: false });
  if (stats?.isDirectory()) return folders.find(([pattern]) => pattern.test(name))?.[1];
  return (stats?.isFile() || stats?.isSocket()) && files?.test(name) ? "file" : undefined;
}

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
};
