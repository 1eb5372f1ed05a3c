import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/clients/**/*.test.ts"],
    globalSetup: "test/clients/support/global-setup.ts",
    // A command line that starts may take its time, the more on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
