import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/cluster/processes/**/*.test.ts"],
    testTimeout: 1_200_000,
    hookTimeout: 60_000,
    // Each test has several gateways of its own.
    maxWorkers: 1,
  },
});
