import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { captureTransport } from "../../capture/capture-transport.ts";
import { CaptureWriter } from "../../capture/capture-writer.ts";
import { Masker } from "../../capture/mask/masker.ts";
import { type CaptureCounts, CaptureRecorder } from "../../capture/recorder.ts";
import { openHome } from "../../config/home.ts";
import type { Transports } from "../../drivers/cursor/run/stream.ts";
import type { CursorFaceParts } from "../../faces/cursor/index.ts";
import { fileError } from "../../files/file-error.ts";
import type { ClientTap } from "../../server/routes/client-tap.ts";
import type { LoadedConfig } from "../load-config.ts";
import { ownFolders, secretsOf } from "../secrets-of.ts";
import { captureClients } from "./capture-clients.ts";
import { captureOwnCalls } from "./capture-own-calls.ts";
import { markRunning } from "./running-captures.ts";

export interface Capture {
  readonly file: string;
  /** Why it ended before its time, if it did. */
  readonly endReason: string | undefined;
  readonly bytes: number;
  readonly counts: CaptureCounts;
  /** Creates what masks the capture where it is shown. */
  createMasker(): Masker;
  /** Records the turns of the gateway's clients. */
  readonly clientTap: ClientTap;
  /** Records the runs of Cursor's clients that the gateway answers itself. */
  readonly cursorTap: NonNullable<CursorFaceParts["onOwnCall"]>;
  /** Records everything that goes through these transports. */
  wrap(transports: Transports): Transports;
  close(): void;
}

export interface CaptureOptions {
  readonly onEnd: (reason: string) => void;
}

const SUFFIX = ".capture";
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000;
/** Of all captures in the home folder. */
const MAX_FOLDER_BYTES = 1024 ** 3;

/** Starts a capture if the settings ask for one (SEC-52). */
export function openCapture(loaded: LoadedConfig, options: CaptureOptions): Capture | undefined {
  const { values, home } = loaded;
  const { capture, limits } = values;
  if (capture === undefined || capture === false) return undefined;
  const file = capture === true ? newFile(home) : capture;
  let endReason: string | undefined;
  const onEnd = (reason: string) => {
    endReason = reason;
    options.onEnd(reason);
  };
  const writer = openWriter(file, limits.captureBytes, onEnd);
  const unmark = markRunning(home, file);
  const secrets = secretsOf(loaded);
  const recorder = new CaptureRecorder(writer, { secrets });
  return {
    file,
    createMasker: () => new Masker([...secrets, ...ownFolders(home)]),
    get endReason() {
      return endReason;
    },
    get bytes() {
      return writer.bytes;
    },
    get counts() {
      return recorder.counts;
    },
    wrap: ({ h1, h2 }) => ({
      h1: captureTransport(h1, "h1", recorder),
      h2: captureTransport(h2, "h2", recorder),
    }),
    clientTap: captureClients(recorder),
    cursorTap: captureOwnCalls(recorder),
    close() {
      recorder.close();
      unmark();
    },
  };
}

function openWriter(file: string, maxBytes: number, onEnd: (reason: string) => void): CaptureWriter {
  try {
    return new CaptureWriter({ file, maxBytes, onEnd });
  } catch (error) {
    throw fileError(error, `create the capture ${file}`, "file_unwritable");
  }
}

const folderOf = (home: string): string => join(home, "captures");

/** Returns the newest capture in the home folder. */
export function lastCapture(home: string): string | undefined {
  return existsSync(folderOf(home)) ? newestFirst(folderOf(home))[0]?.path : undefined;
}

/** Names a new file in the home folder, and removes captures there that are too old or too many. */
function newFile(home: string): string {
  const folder = folderOf(home);
  openHome(home);
  openHome(folder);
  removeOld(folder);
  const time = new Date().toISOString().replace(/[:.]/g, "-");
  return join(folder, `${time}-${process.pid}${SUFFIX}`);
}

const newestFirst = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => ({ path: join(folder, name), stats: statSync(join(folder, name), { throwIfNoEntry: false }) }))
    .toSorted((a, b) => (b.stats?.mtimeMs ?? 0) - (a.stats?.mtimeMs ?? 0));

function removeOld(folder: string): void {
  let bytes = 0;
  for (const { path, stats } of newestFirst(folder)) {
    bytes += stats?.size ?? 0;
    if (Date.now() - (stats?.mtimeMs ?? 0) > MAX_AGE_MS || bytes > MAX_FOLDER_BYTES) rmSync(path, { force: true });
  }
}
