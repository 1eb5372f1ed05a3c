import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/attack/**/*.test.ts"],
    globalSetup: "test/attack/support/global-setup.ts",
    // Each part has a budget of its own. One that hangs must not use up the ten minutes of all.
    testTimeout: 150_000,
    // The attacks load both cores by themselves.
    fileParallelism: false,
  },
});
