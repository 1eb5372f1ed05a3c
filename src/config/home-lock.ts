import { join } from "node:path";
import { createProcessLock, type ProcessLock } from "../files/process-lock.ts";
import { openHome } from "./home.ts";

/** A lock of this name in the home folder, which is made if need be: whoever changes a file there holds it. */
export function createHomeLock(home: string, name: string): ProcessLock {
  const lock = createProcessLock(join(home, name));
  return {
    run(work) {
      openHome(home);
      return lock.run(work);
    },
  };
}
