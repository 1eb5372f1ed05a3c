/** The name of our helper inside the IDE. Every patch of ours has it. */
export const HELPER = "__excursorThink";
/** Begins every insertion, with the id of the patch. */
const OPEN_MARK = "/*excursor-think ";
const ID = /\/\*excursor-think ([0-9a-f]{12})\*\/;var $/;

/** What other patchers leave anywhere in the bundle, or in the class. */
const MARKS_ANYWHERE = ["__thinkTagState", "acpExtensionBridge"];
const MARKS_IN_CLASS = ["_origHandleTextDelta", "_appendThinkContent"];

export const openMark = (patchId: string): string => `${OPEN_MARK}${patchId}*/`;
export const CLOSE_MARK = "/*excursor-think*/";

/** The marks in a bundle: those of our own patch, or those of another patcher. */
export type Marks =
  | { readonly type: "none" }
  | { readonly type: "patched"; readonly patchId: string }
  | { readonly type: "foreign"; readonly marks: readonly string[] };

export function readMarks(bundle: Buffer): Marks {
  const at = bundle.indexOf(HELPER);
  const [, patchId] = ID.exec(bundle.toString("latin1", Math.max(0, at - 64), Math.max(0, at))) ?? [];
  if (patchId !== undefined) return { type: "patched", patchId };
  const marks = MARKS_ANYWHERE.filter((mark) => bundle.includes(mark));
  // The name without the mark is the rest of a patch that was partly removed.
  return foreign(at === -1 ? marks : [HELPER, ...marks]);
}

export const readClassMarks = (text: string): Marks => foreign(MARKS_IN_CLASS.filter((mark) => text.includes(mark)));

const foreign = (marks: readonly string[]): Marks => (marks.length > 0 ? { type: "foreign", marks } : { type: "none" });
