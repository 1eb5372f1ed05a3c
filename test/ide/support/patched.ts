import { applyInsertions, planEdit } from "../../../src/ide/patch/edit.ts";
import { locate } from "../../../src/ide/patch/locate.ts";

/** The text of a bundle with our patch in it. */
export function patched(text: string): string {
  const bundle = Buffer.from(text);
  const finding = locate(bundle);
  if (finding.type !== "found") throw new Error(`expected the class to be found: ${JSON.stringify(finding)}`);
  return Buffer.concat([...applyInsertions(bundle, planEdit(bundle, finding.site))]).toString();
}
