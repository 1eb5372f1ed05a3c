import { printable } from "../../core/printable.ts";
import type { PatchPlan } from "../../ide/patch/patch.ts";

/** How much text before an insertion is shown. */
const LEAD_BYTES = 60;

/** Formats a patch for people: every position, and every byte that is inserted. */
export function formatEdit({ root, edits, checksums }: PatchPlan): string {
  const lines = [`${printable(root)}`, ""];
  for (const { path, original, insertions } of edits) {
    lines.push(path);
    for (const { at, text, what } of insertions) {
      const lead = original.toString("utf8", Math.max(0, at - LEAD_BYTES), at).replace(/\s+/g, " ");
      lines.push(`@ byte ${at}: ${what} (${Buffer.byteLength(text)} bytes)`, `  …${printable(lead)}`);
      lines.push(...text.split("\n").map((line) => `+ ${printable(line)}`));
    }
    lines.push("");
  }
  if (checksums.length > 0) lines.push("product.json");
  for (const { key, before, after } of checksums) lines.push(`- "${key}": "${before}"`, `+ "${key}": "${after}"`);
  return `${lines.join("\n").trimEnd()}\n`;
}
