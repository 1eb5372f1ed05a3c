import type { DiffLine } from "../../dashboard/messages.ts";

/** Unchanged lines that are kept around a change. */
const CONTEXT = 2;
/** Texts that differ in more lines are shown as removed and added as a whole. */
const MAX_EDITS = 1000;

const KINDS: Readonly<Record<string, DiffLine["kind"]>> = { " ": "same", "-": "removed", "+": "added" };

/** Returns the lines that differ between two texts, with a few around them. */
export async function lineDiff(before: string, after: string): Promise<readonly DiffLine[]> {
  const { structuredPatch } = await import("diff");
  const [a, b] = [endLine(before), endLine(after)];
  const bounds = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const hunks = structuredPatch("", "", a, b, undefined, undefined, bounds)?.hunks ?? [
    { oldStart: 1, oldLines: linesOf(a).length, lines: [...linesOf(a, "-"), ...linesOf(b, "+")] },
  ];
  const gap: DiffLine = { kind: "gap", text: "" };
  const shown = hunks.flatMap(({ oldStart, lines }) => [
    ...(oldStart > 1 ? [gap] : []),
    ...lines.map((line): DiffLine => ({ kind: KINDS[line[0] ?? ""] ?? "same", text: line.slice(1) })),
  ]);
  const last = hunks.at(-1);
  const isWhole = !last || last.oldStart - 1 + last.oldLines >= linesOf(a).length;
  return isWhole ? shown : [...shown, gap];
}

const endLine = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

const linesOf = (text: string, sign = ""): readonly string[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => sign + line);
