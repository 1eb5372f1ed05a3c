import { defineConfig } from "vitest/config";

/** Every answer of every face against the official types. `CONFORMANCE_URL` names another gateway to ask instead. */
export default defineConfig({
  test: {
    include: ["test/conformance/**/*.test.ts"],
    testTimeout: process.env["CONFORMANCE_URL"] ? 300_000 : 20_000,
    globalSetup: "test/conformance/support/make-schemas.ts",
    setupFiles: ["test/support/each-file.ts"],
    maxWorkers: 1,
  },
});
