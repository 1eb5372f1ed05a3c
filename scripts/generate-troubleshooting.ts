import { readFileSync, writeFileSync } from "node:fs";
import { ERROR_CODES } from "../src/core/error-codes.ts";
import { ERROR_KINDS, type ErrorKind, ExcursorError } from "../src/core/errors.ts";
import { publicCode } from "../src/faces/shared/errors/http-errors.ts";

// Writes the codes of each kind into its section of docs/troubleshooting.md. `--check` only compares. Fails if a kind has no
// section there.
const PAGE = "docs/troubleshooting.md";

const page = readFileSync(PAGE, "utf8");
let fresh = page;
for (const kind of Object.keys(ERROR_KINDS) as ErrorKind[]) {
  const heading = `\n### ${publicCode(new ExcursorError(kind, ""))}\n`;
  const start = fresh.indexOf(heading);
  if (start === -1) throw new Error(`${PAGE} lacks the section${heading}`);
  const end = fresh.indexOf("\n#", start + heading.length);
  const [prose = ""] = fresh.slice(start, end).split("\n- `", 1);
  const codes = Object.entries(ERROR_CODES)
    .filter(([, [of]]) => of === kind)
    .map(([code, [, says, hint]]) => `- \`${code}\`: ${hint === undefined ? says : `${says} ${hint}`}\n`);
  fresh = `${fresh.slice(0, start)}${[prose.trimEnd(), ...(codes.length > 0 ? [codes.join("").trimEnd()] : [])].join("\n\n")}\n${fresh.slice(end)}`;
}
if (!process.argv.includes("--check")) writeFileSync(PAGE, fresh);
else if (page !== fresh) {
  console.error(`Run \`npm run generate\` and commit ${PAGE}.`);
  process.exitCode = 1;
}
