import type fs from "node:fs";

/** What of Node's file system the patcher uses; tests put one that fails in its place. */
export type IdeFiles = Pick<
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
