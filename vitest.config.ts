import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/**
 * Other people's clients and servers, installed on demand (`npm run test:clients`, `test:mcp`), a real workbench (`test:ide`), a fault
 * at every frame (`test:faults`), kills of the usage record (`test:usage`), hostile clients and peers (`test:attack`), a real Prometheus
 * (`test:metrics`), a browser (`test:ui`), whole clusters (`test:cluster`), the packed package (`test:package`), and every answer against
 * the official types (`test:conformance`).
 */
const OWN_SCRIPTS = [
  "test/clients/**",
  "test/mcp-servers/**",
  "test/workbench/**",
  "test/faults/**",
  "test/sums/**",
  "test/attack/**",
  "test/prometheus/**",
  "test/conformance/**",
  "test/ui/**",
  "test/package/**",
  "test/cluster/processes/**",
];

/** Tests of whole programs. */
const PROCESSES = "test/{cli,gateway,cluster}/**/*.test.ts";

/** Tests that change their own process: its environment, time zone or umask. */
const OWN_PROCESS = "test/own-process/**/*.test.ts";

export default defineConfig({
  test: {
    testTimeout: 20_000,
    globalSetup: "test/dashboard/support/bundle-page.ts",
    // The cache of bin/excursor.js, for every process that a test starts from sources: half of its start is stripping types.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/excursor", import.meta.url)) },
    // Two cores: more workers only fight for them, and the fault suites notice.
    maxWorkers: 2,
    setupFiles: ["test/support/each-file.ts"],
    // Files share a worker: it and its imports take longer than most tests.
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: "units", include: ["test/**/*.test.ts"], exclude: [...OWN_SCRIPTS, PROCESSES, OWN_PROCESS] },
      },
      { extends: true, test: { name: "processes", include: [PROCESSES], exclude: OWN_SCRIPTS } },
      { extends: true, test: { name: "own-process", include: [OWN_PROCESS], isolate: true } },
    ],
  },
});
