import type fs from "node:fs";

/** The calls of Node's file system that replace files and patch apps; tests pass one that fails. */
export type FileSystem = Pick<
  typeof fs,
  | "accessSync"
  | "closeSync"
  | "existsSync"
  | "fchmodSync"
  | "fchownSync"
  | "fstatSync"
  | "fsyncSync"
  | "linkSync"
  | "lstatSync"
  | "mkdirSync"
  | "openSync"
  | "readFileSync"
  | "readSync"
  | "readdirSync"
  | "realpathSync"
  | "renameSync"
  | "rmSync"
  | "statSync"
  | "unlinkSync"
  | "writeSync"
>;
