import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const ID = /\b(?:SEC|REL|FUZ|OPS)-\d{2}\b/g;
const DEFINITIONS = "docs/security-requirements.md";

/** Returns a line for each requirement id that a tracked file cites and {@link DEFINITIONS} does not define. */
export function findUndefinedIds(): string[] {
  const defined = new Set(
    [...readFileSync(DEFINITIONS, "utf8").matchAll(/^- ((?:SEC|REL|FUZ|OPS)-\d{2}): /gm)].map(([, id]) => id),
  );
  const files = execFileSync("git", ["ls-files", "src", "test", "bench", "scripts", "docs", "*.md"], {
    encoding: "utf8",
  }).split("\n");
  return files.flatMap((file) => {
    // A file that was deleted and not yet committed is still listed.
    if (!/\.(?:ts|mjs|md)$/.test(file) || !existsSync(file)) return [];
    const cited = new Set(readFileSync(file, "utf8").match(ID));
    return [...cited].filter((id) => !defined.has(id)).map((id) => `${file}: ${id} is not defined in ${DEFINITIONS}`);
  });
}
