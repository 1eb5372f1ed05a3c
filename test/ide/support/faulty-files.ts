import fs from "node:fs";
import type { FileSystem } from "../../../src/files/file-system.ts";

/** How the n-th call of the file system goes wrong. */
export type Fault =
  /** The process is gone: a write is half done, and nothing is called after it. */
  | { readonly type: "kill"; readonly at: number }
  /** One call fails. */
  | { readonly type: "error"; readonly at: number; readonly code: string }
  /** From then on nothing can be written. */
  | { readonly type: "full"; readonly at: number };

export interface FaultyFiles {
  readonly files: FileSystem;
  /** Calls so far. */
  readonly calls: () => number;
}

const WRITING = new Set(["writeSync", "mkdirSync", "linkSync", "fsyncSync"]);

/** The real file system, up to a point. */
export function faultyFiles(fault?: Fault): FaultyFiles {
  let calls = 0;
  const wrap = (name: string, real: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): unknown => {
      calls++;
      if (!fault || calls < fault.at) return real(...args);
      if (fault.type === "kill") {
        const [file, chunk, from] = args as [number, Uint8Array, number];
        if (calls === fault.at && name === "writeSync" && typeof chunk !== "string") {
          fs.writeSync(file, chunk, from, (chunk.length - from) >> 1);
        }
        throw new Error("killed");
      }
      if (fault.type === "error" && calls === fault.at) throw failure(fault.code);
      const makesFile = name === "openSync" && typeof args[1] === "string" && args[1].startsWith("w");
      if (fault.type === "full" && (WRITING.has(name) || makesFile)) throw failure("ENOSPC");
      return real(...args);
    };
  };
  const files = Object.fromEntries(
    Object.entries(fs).map(([name, value]) => [
      name,
      typeof value === "function" && name.endsWith("Sync")
        ? wrap(name, value as (...args: unknown[]) => unknown)
        : value,
    ]),
  );
  return { files: files as unknown as FileSystem, calls: () => calls };
}

const failure = (code: string): Error => Object.assign(new Error(code), { code, path: "/a/file" });
