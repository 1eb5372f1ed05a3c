/** Stands around what we insert, with the id of the patch. */
const OUR_MARK = "/*excursor-think ";
const ID = /^[0-9a-f]{12}/;

/** What other patchers leave in the same files. */
export const FOREIGN_MARKS = [
  "__thinkTagState",
  "_origHandleTextDelta",
  "_appendThinkContent",
  "acpExtensionBridge",
  "_acpRegisterProvider",
  "__excursorThink",
] as const;

export const openMark = (patchId: string): string => `${OUR_MARK}${patchId}*/`;
export const CLOSE_MARK = "/*excursor-think*/";

/** Which patch of ours the bundle has. */
export function patchIdIn(bundle: Buffer): string | undefined {
  const at = bundle.indexOf(OUR_MARK);
  if (at === -1) return undefined;
  const [id] = ID.exec(bundle.toString("latin1", at + OUR_MARK.length, at + OUR_MARK.length + 12)) ?? [];
  return id;
}

export const findMarks = (bundle: Buffer, marks: readonly string[]): readonly string[] =>
  marks.filter((mark) => bundle.includes(mark));
