import { createHash } from "node:crypto";
import { INJECTED_SOURCE } from "./injected-source.ts";
import type { ClassSite } from "./locate.ts";
import { CLOSE_MARK, HELPER, openMark } from "./marks.ts";
import { findPrologue } from "./prologue.ts";

/** Text that goes into a bundle in front of a byte. Nothing is ever taken out. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** For people. */
  readonly what: string;
}

/** A method's own statements follow each of these unchanged. */
const GUARDS = {
  handleTextDelta: `if(${HELPER}.text(this,arguments))return;`,
  sendUpdate: `${HELPER}.update(this,arguments);`,
  dispose: `${HELPER}.dispose(this);`,
} as const;

/** Changes whenever anything that we insert does. */
export const PATCH_ID = createHash("sha256")
  .update(JSON.stringify([HELPER, GUARDS, INJECTED_SOURCE]))
  .digest("hex")
  .slice(0, 12);

/** What turns the bundle into a patched one, in the order of the bundle. */
export function planEdit(bundle: Buffer, site: ClassSite): readonly Insertion[] {
  const helper = `;var ${HELPER}=${INJECTED_SOURCE};`;
  const guards = Object.entries(site.bodies).map(([method, at]) => ({
    at,
    text: `${openMark(PATCH_ID)}${GUARDS[method as keyof typeof GUARDS]}${CLOSE_MARK}`,
    what: `a guard at the start of ${method}`,
  }));
  const prologue = {
    at: findPrologue(bundle),
    text: `${openMark(PATCH_ID)}${helper}${CLOSE_MARK}`,
    what: "the helper that splits text and thinking",
  };
  return [prologue, ...guards].sort((one, other) => one.at - other.at);
}

/** The patched bundle in pieces, none of them copied. */
export function* applyInsertions(bundle: Buffer, insertions: readonly Insertion[]): Generator<Buffer> {
  let from = 0;
  for (const { at, text } of insertions) {
    yield bundle.subarray(from, at);
    yield Buffer.from(text);
    from = at;
  }
  yield bundle.subarray(from);
}
