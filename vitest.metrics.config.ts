import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/prometheus/**/*.test.ts"],
    testTimeout: 120_000,
    maxWorkers: 1,
  },
});
