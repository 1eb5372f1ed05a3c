import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/workbench/**/*.test.ts"],
    globalSetup: "test/workbench/support/global-setup.ts",
    testTimeout: 600_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
  },
});
