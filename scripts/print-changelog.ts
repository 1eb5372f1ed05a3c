import { readFileSync } from "node:fs";

// Prints the section of the changelog for a tag: `node scripts/print-changelog.ts v0.1.0`. Fails if there is none.
const version = (process.argv[2] ?? "").replace(/^v/, "");
const sections = readFileSync("CHANGELOG.md", "utf8").split(/^## /m);
const section = sections.find((text) => text.startsWith(`[${version}]`));
if (version === "" || section === undefined) {
  console.error(`CHANGELOG.md has no section "## [${version}]". Move the entries of Unreleased there.`);
  process.exitCode = 1;
} else process.stdout.write(`${section.slice(section.indexOf("\n")).trim()}\n`);
