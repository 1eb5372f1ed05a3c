import { hash } from "node:crypto";

/** The label under which the client's tools are offered. */
export const PROVIDER = "excursor";

/** Models take no more than 64 characters, and read `mcp_excursor_` before a tool's own name. */
const MAX_LENGTH = 50;
const PLAIN = /^[A-Za-z0-9_-]+$/;
const MARKED = /_x[0-9a-f]{8}$/;

/**
 * A tool's name as the backend gets it. A plain one stays as it is; any other is spelt with what is allowed, and marked
 * with a digest of what it was, so that no two become the same. It depends on the name alone: a conversation that is
 * told anew speaks of its tools as before.
 */
export function wireToolName(name: string): string {
  if (PLAIN.test(name) && name.length <= MAX_LENGTH && !MARKED.test(name)) return name;
  const mark = `_x${hash("sha256", name, "hex").slice(0, 8)}`;
  return `${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_LENGTH - mark.length)}${mark}`;
}

/** The unique name, which says whose tool it is. */
export const qualifiedToolName = (name: string): string => `${PROVIDER}-${wireToolName(name)}`;
