import { homedir } from "node:os";
import { ExcursorError } from "../core/errors.ts";

/**
 * Sets HOME for a user who has neither HOME nor an entry in the system's list of users, as in some containers: Node throws
 * there. EXCURSOR_HOME stands in for it. Throws if that is not set either.
 */
export function ensureHome(environment: NodeJS.ProcessEnv): void {
  try {
    homedir();
  } catch (cause) {
    const home = environment["EXCURSOR_HOME"];
    if (!home) {
      throw new ExcursorError("no_home", [], { cause });
    }
    environment["HOME"] = home;
  }
}
