import { join } from "node:path";
import { createProcessLock, type ProcessLock } from "../files/process-lock.ts";
import { openHome } from "./home.ts";

/** Creates a lock in the home folder, which is created if it is missing. Writers of a file there hold its lock. */
export function createHomeLock(home: string, name: string): ProcessLock {
  const lock = createProcessLock(join(home, name));
  return {
    run(work) {
      openHome(home);
      return lock.run(work);
    },
  };
}
