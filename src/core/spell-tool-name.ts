import { hash } from "node:crypto";

/** Models take at most 64 characters, and Cursor puts `mcp_excursor_` in front of a tool's name. */
const MAX_LENGTH = 50;
const PLAIN = /^[A-Za-z0-9_-]+$/;
const MARKED = /_x[0-9a-f]{8}$/;

/**
 * Returns a tool name that every API and every upstream accepts. A plain name stays as it is. In any other, characters that
 * are not allowed are replaced, and a digest is appended so that no two names become the same. The result depends on the
 * arguments only, so a replayed conversation has the same names.
 *
 * @param identity What the digest is made of, if the name alone is not unique.
 */
export function spellToolName(name: string, identity?: string): string {
  if (identity === undefined && PLAIN.test(name) && name.length <= MAX_LENGTH && !MARKED.test(name)) return name;
  const mark = `_x${hash("sha256", identity ?? name, "hex").slice(0, 8)}`;
  return `${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_LENGTH - mark.length)}${mark}`;
}
