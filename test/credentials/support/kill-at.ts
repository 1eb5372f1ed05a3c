import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a program, which is then killed (SIGKILL) right before its n-th call that touches the disk, counted from
 * its first word on stdin.
 */
const NAMES = [
  "openSync",
  "writeSync",
  "fsyncSync",
  "fchmodSync",
  "closeSync",
  "linkSync",
  "renameSync",
  "rmSync",
  "readdirSync",
  "readFileSync",
  "statSync",
] as const;

const at = Number(process.env["KILL_AT"]);
let calls = 0;
let isArmed = false;
process.stdin.prependOnceListener("data", () => {
  isArmed = true;
});

for (const name of NAMES) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      if (isArmed && ++calls === at) process.kill(process.pid, "SIGKILL");
      return original(...args);
    },
  });
}
syncBuiltinESMExports();
