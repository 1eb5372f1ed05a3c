import { spawnSync } from "node:child_process";

/**
 * True if the tests may start programs of this checkout as another user: only root can do that, and not if the checkout is in a
 * folder that others cannot enter.
 */
export const canRunAs = (user: number): boolean =>
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ["--version"], { uid: user, gid: user, cwd: "/" }).status === 0;
