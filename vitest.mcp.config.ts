import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/mcp-servers/**/*.test.ts"],
    globalSetup: "test/mcp-servers/support/global-setup.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
