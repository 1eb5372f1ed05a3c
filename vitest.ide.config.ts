import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/workbench/**/*.test.ts"],
    globalSetup: "test/workbench/support/global-setup.ts",
    // Hundreds of processes in each of the sweeps, on a machine that may be busy.
    testTimeout: 1_800_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
  },
});
