import { hash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { openHome } from "./home.ts";

/** A gateway's second listener, for commands of the same user: a Unix socket, or a named pipe on Windows. */
export interface Door {
  /** The port of the gateway. */
  readonly port: number;
  /** What `connect` and `listen` of Node take as a path. */
  readonly address: string;
}

/** What a socket's path can have on macOS. Linux takes four bytes more. */
const MAX_PATH_BYTES = 103;
const FILE = /^gateway-(\d{1,5})\.door$/;
const MAX_NAME_BYTES = 256;

/** Returns the file of a gateway's door: the socket itself, or on Windows a file with the name of the pipe. */
export function doorFile(home: string, port: number): string {
  return join(openFolder(home), `gateway-${port}.door`);
}

/** Returns the doors of a home folder behind which a gateway answers. */
export async function openDoors(home: string): Promise<readonly Door[]> {
  const path = folderOf(home);
  if (!existsSync(path)) return [];
  const folder = openFolder(home);
  const doors = readdirSync(folder).flatMap((name) => {
    const port = FILE.exec(name)?.[1];
    const address = port === undefined ? undefined : addressIn(join(folder, name));
    return address === undefined ? [] : [{ port: Number(port), address }];
  });
  const areOpen = await Promise.all(doors.map(({ address }) => isOpen(address)));
  return doors.filter((_, index) => areOpen[index]);
}

/** Removes the folder in the system's runtime folder once it has no door. */
export function leaveFolder(home: string): void {
  const folder = folderOf(home);
  if (folder === resolve(home)) return;
  try {
    rmdirSync(folder);
  } catch {
    // Another gateway of this home has its door there.
  }
}

/** False if nobody listens at the address: the gateway was killed. */
export function isOpen(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

const addressIn = (file: string): string | undefined =>
  process.platform === "win32" ? readSmallFile(file, MAX_NAME_BYTES)?.trim() : file;

/** The home folder, or a folder in the system's runtime folder if a socket's path would be too long there. */
function folderOf(home: string): string {
  const folder = resolve(home);
  const longest = join(folder, "gateway-65535.door");
  if (process.platform === "win32" || Buffer.byteLength(longest) <= MAX_PATH_BYTES) return folder;
  const runtime = `/run/user/${process.getuid?.()}`;
  return join(existsSync(runtime) ? runtime : tmpdir(), `excursor-${hash("sha256", folder, "hex").slice(0, 16)}`);
}

/** Creates the folder if it is missing. Throws if others can enter it, or have put a link in its place. */
function openFolder(home: string): string {
  const folder = folderOf(home);
  openHome(folder);
  if (folder !== resolve(home) && lstatSync(folder).isSymbolicLink())
    throw new ExcursorError("foreign_owner", [folder]);
  return folder;
}
