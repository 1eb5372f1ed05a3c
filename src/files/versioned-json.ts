import { ExcursorError } from "../core/errors.ts";

/**
 * Parses a JSON file of ours, which has its `version` at the top. Throws if a newer Excursor has written it: this one would
 * drop what it does not know. Throws a SyntaxError if it is no JSON.
 */
export function parseVersionedJson(path: string, text: string, known: number): unknown {
  const tree: unknown = JSON.parse(text);
  const version = tree !== null && typeof tree === "object" && "version" in tree ? tree.version : undefined;
  if (typeof version !== "number" || version <= known) return tree;
  throw new ExcursorError("config", `${path} was written by a newer Excursor. It was not changed.`, {
    code: "file_too_new",
    hint: "Update Excursor. Or move that file away, or set EXCURSOR_HOME to another folder.",
  });
}
