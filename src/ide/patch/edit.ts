import { createHash } from "node:crypto";
import { INJECTED_SOURCE } from "./injected-source.ts";
import type { ClassSite } from "./locate.ts";
import { CLOSE_MARK, HELPER, openMark } from "./marks.ts";
import { findPrologue } from "./prologue.ts";

/** Text that is inserted into a bundle in front of a byte. Nothing is ever removed. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  readonly what: string;
}

/** The method's own statements follow each guard unchanged. */
const GUARDS = {
  handleTextDelta: `if(${HELPER}.text(this,arguments))return;`,
  sendUpdate: `${HELPER}.update(this,arguments);`,
  dispose: `${HELPER}.dispose(this);`,
} as const;

/** Changes whenever the inserted code changes. */
export const PATCH_ID = createHash("sha256")
  .update(JSON.stringify([HELPER, GUARDS, INJECTED_SOURCE]))
  .digest("hex")
  .slice(0, 12);

/** Returns the insertions that patch the bundle, in the order of their positions. */
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

/** Yields the patched bundle in pieces, without copying the original. */
export function* applyInsertions(bundle: Buffer, insertions: readonly Insertion[]): Generator<Buffer> {
  let from = 0;
  for (const { at, text } of insertions) {
    yield bundle.subarray(from, at);
    yield Buffer.from(text);
    from = at;
  }
  yield bundle.subarray(from);
}
