import { randomUUID } from "node:crypto";
import { lstatSync, rmSync } from "node:fs";
import { doorFile, isOpen, leaveFolder } from "../config/doors.ts";
import { ExcursorError } from "../core/errors.ts";
import { writePrivate } from "../files/write-private.ts";
import type { Log } from "../observe/log.ts";

interface Closing {
  close(): Promise<void>;
}

interface DoorOptions {
  readonly home: string;
  /** The port that the gateway has. Nobody else has it, so nobody else opens this door. */
  readonly port: number;
  readonly listenAt: (path: string) => Promise<Closing>;
  readonly log: Pick<Log, "warn">;
}

/** Opens a gateway's door. A socket of a killed gateway is replaced. Logs if there can be no door, and goes on without. */
export async function openDoor({ home, port, listenAt, log }: DoorOptions): Promise<Closing | undefined> {
  try {
    const file = doorFile(home, port);
    const isPipe = process.platform === "win32";
    // Every program can open a pipe whose name it knows, so the name is random, in a file that only its owner can read.
    const path = isPipe ? `\\\\.\\pipe\\excursor-${randomUUID()}` : file;
    if (lstatSync(file, { throwIfNoEntry: false })?.isSocket() && !(await isOpen(file))) rmSync(file);
    const listener = await listenAt(path);
    if (isPipe) writePrivate(file, path);
    return {
      async close() {
        await listener.close();
        // Node has removed a socket.
        if (isPipe) rmSync(file, { force: true });
        leaveFolder(home);
      },
    };
  } catch (error) {
    log.warn({}, `Commands of this machine cannot reach this gateway. ${ExcursorError.from(error).message}`);
    return undefined;
  }
}
