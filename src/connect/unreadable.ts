import { ExcursorError } from "../core/errors.ts";

/** A configuration of somebody else's that is not what it should be: nothing is written over it. */
export const unreadable = (why: string): ExcursorError =>
  new ExcursorError("config", `The configuration of the client cannot be read: ${why}.`, {
    code: "client_config_unreadable",
    hint: "Nothing was changed. Mend the file, or move it away, and try again.",
  });
