import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/ui/**/*.test.ts"],
    // A browser that starts may take its time, the more on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
