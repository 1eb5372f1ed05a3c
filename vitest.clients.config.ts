import { defineConfig } from "vitest/config";
import { ResultsReporter } from "./test/clients/matrix/results-reporter.ts";

export default defineConfig({
  test: {
    // The official SDKs, too, which `npm test` also runs: they are rows of the matrix.
    include: ["test/clients/**/*.test.ts", "test/gateway/{sdk/*,runs/tools}.test.ts"],
    reporters: ["default", new ResultsReporter()],
    globalSetup: "test/clients/support/global-setup.ts",
    setupFiles: ["test/support/each-file.ts"],
    // A command line that starts may take its time, the more on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
