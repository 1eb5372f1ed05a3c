import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Checkpoint } from "../../src/core/history/checkpoints.ts";

export interface StateDirectory extends Disposable {
  readonly path: string;
  readonly file: string;
}

/** A directory of its own, gone with its scope. */
export function stateDirectory(): StateDirectory {
  const path = mkdtempSync(join(tmpdir(), "excursor-state-"));
  return {
    path,
    file: join(path, "home", "state.db"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function checkpoint(conversationId: string, state: string, ...blobs: readonly string[]): Checkpoint {
  return {
    conversationId,
    state: new Uint8Array(Buffer.from(state)),
    blobs: new Map(blobs.map((text) => [blobName(text), new Uint8Array(Buffer.from(text))])),
  };
}

const blobName = (text: string): string => createHash("sha256").update(text).digest("hex");
