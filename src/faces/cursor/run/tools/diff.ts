/** Lines shown around a change. */
const CONTEXT = 3;

/** Returns a unified diff with one hunk, from the first line that differs to the last. */
export function diffOf(
  before: string,
  after: string,
): { readonly text: string; readonly added: number; readonly removed: number } {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let [oldEnd, freshEnd] = [old.length, fresh.length];
  while (oldEnd > start && freshEnd > start && old[oldEnd - 1] === fresh[freshEnd - 1]) {
    oldEnd--;
    freshEnd--;
  }
  const from = Math.max(0, start - CONTEXT);
  const lead = old.slice(from, start).map((line) => ` ${line}`);
  const trail = old.slice(oldEnd, oldEnd + CONTEXT).map((line) => ` ${line}`);
  const removed = old.slice(start, oldEnd).map((line) => `-${line}`);
  const added = fresh.slice(start, freshEnd).map((line) => `+${line}`);
  const around = lead.length + trail.length;
  const header = `@@ -${from + 1},${around + removed.length} +${from + 1},${around + added.length} @@`;
  return {
    text: [header, ...lead, ...removed, ...added, ...trail].join("\n"),
    added: added.length,
    removed: removed.length,
  };
}
