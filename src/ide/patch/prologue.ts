/** Comments and directives at the start are shorter than this. */
const MAX_LENGTH = 64 * 1024;
const BLANKS_AND_COMMENTS = /(?:\s|\/\/[^\n]*\n|\/\*.*?\*\/)*/sy;
const DIRECTIVE = /(?:"use strict"|'use strict')\s*;?/y;

/** Returns where a first statement may be inserted: after the licence and `"use strict"`. */
export function findPrologue(bundle: Buffer): number {
  // In latin1 a character is a byte, so positions are bytes.
  const head = bundle.toString("latin1", 0, MAX_LENGTH);
  let at = head.startsWith("\u00ef\u00bb\u00bf") ? 3 : 0;
  if (head.startsWith("#!", at)) at = head.indexOf("\n", at) + 1;
  for (const pattern of [BLANKS_AND_COMMENTS, DIRECTIVE]) {
    pattern.lastIndex = at;
    at += pattern.exec(head)?.[0].length ?? 0;
  }
  return at;
}
