import { hash } from "node:crypto";

/** Models take no more than 64 characters, and Cursor's read `mcp_excursor_` before a tool's own name. */
const MAX_LENGTH = 50;
const PLAIN = /^[A-Za-z0-9_-]+$/;
const MARKED = /_x[0-9a-f]{8}$/;

/**
 * A tool's name as every dialect and every upstream can take it. A plain one stays as it is; any other is spelt with
 * what is allowed, and marked with a digest of what it stands for, so that no two become the same. It depends on the
 * name alone: a conversation that is told anew speaks of its tools as before.
 *
 * @param identity What it stands for, where that is more than the name: then the name alone does not tell.
 */
export function spellToolName(name: string, identity?: string): string {
  if (identity === undefined && PLAIN.test(name) && name.length <= MAX_LENGTH && !MARKED.test(name)) return name;
  const mark = `_x${hash("sha256", identity ?? name, "hex").slice(0, 8)}`;
  return `${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_LENGTH - mark.length)}${mark}`;
}
