import { ExcursorError } from "../core/errors.ts";

/**
 * Parses a JSON file of ours that has its `version` at the top, and that is worse to lose than to repair: keys and logins. It
 * stays where it is. Throws if it is of another version, and a SyntaxError if it is no JSON.
 */
export function parseVersionedJson(path: string, text: string, known: number): unknown {
  const tree: unknown = JSON.parse(text);
  const version = tree !== null && typeof tree === "object" && "version" in tree ? tree.version : undefined;
  if (typeof version !== "number" || version === known) return tree;
  throw new ExcursorError("file_other_version", [path]);
}
