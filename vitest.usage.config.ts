import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/sums/**/*.test.ts"],
    testTimeout: 900_000,
    maxWorkers: 1,
  },
});
