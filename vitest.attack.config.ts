import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/attack/**/*.test.ts"],
    testTimeout: 600_000,
    // The attacks load both cores by themselves.
    fileParallelism: false,
  },
});
