import { ExcursorError } from "../core/errors.ts";

/**
 * Parses a JSON file of ours that has its `version` at the top, and that is worse to lose than to repair: keys and logins. It
 * stays where it is. Throws if it is of another version, and a SyntaxError if it is no JSON.
 */
export function parseVersionedJson(path: string, text: string, known: number): unknown {
  const tree: unknown = JSON.parse(text);
  const version = tree !== null && typeof tree === "object" && "version" in tree ? tree.version : undefined;
  if (typeof version !== "number" || version === known) return tree;
  throw new ExcursorError("config", `${path} is of another version of Excursor. It was not changed.`, {
    code: "file_other_version",
    hint: "Run that version. Or move the file away, and create what it has again: keys, accounts or sign-ins. Or set EXCURSOR_HOME to another folder.",
  });
}
