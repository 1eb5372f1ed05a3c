import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Other people's clients, installed on demand (`npm run test:clients`), and a fault at every frame (`test:faults`).
    exclude: ["test/clients/**", "test/faults/**"],
    testTimeout: 20_000,
    // Two cores: more workers only fight for them, and the fault suites notice.
    maxWorkers: 2,
  },
});
