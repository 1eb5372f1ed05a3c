import type { DiffLine } from "../../dashboard/messages.ts";

/** Unchanged lines that are kept around a change. */
const CONTEXT = 2;
/** Larger parts are shown as removed and added as a whole. */
const MAX_CELLS = 1_000_000;

/** Returns the lines that differ between two texts, with a few around them. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const middle = diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return withGaps([...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)]);
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** By the longest common subsequence. */
function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = a.length - 1; row >= 0; row--) {
    for (let column = b.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        a[row] === b[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < a.length || column < b.length) {
    const [left, right] = [a[row], b[column]];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      row++;
      column++;
    } else if (left !== undefined && (right === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(removed(left));
      row++;
    } else {
      lines.push(added(right ?? ""));
      column++;
    }
  }
  return lines;
}

/** Replaces unchanged lines far from a change by a gap. */
function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Set(
    lines.flatMap(({ kind }, index) =>
      kind === "same" ? [] : Array.from({ length: CONTEXT * 2 + 1 }, (_, offset) => index - CONTEXT + offset),
    ),
  );
  const shown: DiffLine[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear.has(index)) shown.push(line);
    else if (shown.at(-1)?.kind !== "gap") shown.push({ kind: "gap", text: "" });
  }
  return shown.length === 1 && shown[0]?.kind === "gap" ? [] : shown;
}
