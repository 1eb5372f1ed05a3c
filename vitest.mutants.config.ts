import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitest/config";
import main from "./vitest.config.ts";

/** Imported by tests that start processes or threads, themselves or in their support. They are too slow to run for each fault. */
const STARTS_PROCESSES = /from "node:(?:child_process|worker_threads)"|process\.execPath/;

/** The file and what it imports from `test/`. */
function testSources(file: string): readonly string[] {
  const files = new Set([file]);
  for (const found of files) {
    for (const [, path = ""] of readFileSync(found, "utf8").matchAll(/from "(\.{1,2}\/[^"]+)"/g)) {
      const imported = join(dirname(found), path);
      if (imported.startsWith("test") && existsSync(imported)) files.add(imported);
    }
  }
  return [...files].map((path) => readFileSync(path, "utf8"));
}

const leftOut = globSync("test/**/*.test.ts").filter((file) =>
  testSources(file).some((source) => STARTS_PROCESSES.test(source)),
);

/**
 * The tests of `npm test` that need no process of their own, for `npm run mutants`. Stryker runs them in threads, which cannot change
 * what belongs to their process.
 */
export default defineConfig({
  test: {
    ...main.test,
    projects: (main.test?.projects ?? []).flatMap((project) => {
      if (typeof project !== "object" || !("test" in project))
        throw new Error("Projects must be written in vitest.config.ts.");
      if (project.test?.name === "own-process") return [];
      return { ...project, test: { ...project.test, exclude: [...(project.test?.exclude ?? []), ...leftOut] } };
    }),
  },
});
