import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** What a test that shares its worker must not have: changes of globals, processes, and shared modules with hooks of their own. */
const NEEDS_OWN_WORKER = /\bvi\.|process\.|globalThis|child_process|(?:sim|gateway)\/support\/|support\/stage/;

/**
 * Tests without state share the workers and their imports: a worker and its imports take longer than most of these tests. The
 * text of a file decides, so one that begins to change globals leaves this list by itself.
 */
const STATELESS = globSync(
  "test/{capture,config,core,drift,faces,files,gen,golden,media,metrics,observe,replay,schema,traces,wire}/**/*.test.ts",
).filter((file) => !NEEDS_OWN_WORKER.test(readFileSync(file, "utf8")));

/**
 * Other people's clients and servers, installed on demand (`npm run test:clients`, `test:mcp`), a real workbench (`test:ide`), a fault
 * at every frame (`test:faults`), kills of the usage record (`test:usage`), hostile clients and peers (`test:attack`), a real Prometheus
 * (`test:metrics`), a browser (`test:ui`), whole clusters (`test:cluster`), and the packed package (`test:package`).
 */
const OWN_SCRIPTS = [
  "test/clients/**",
  "test/mcp-servers/**",
  "test/workbench/**",
  "test/faults/**",
  "test/sums/**",
  "test/attack/**",
  "test/prometheus/**",
  "test/ui/**",
  "test/package/**",
  "test/cluster/processes/**",
];

export default defineConfig({
  test: {
    testTimeout: 20_000,
    globalSetup: "test/dashboard/support/bundle-page.ts",
    // The cache of bin/excursor.js, for every process that a test starts from sources: half of its start is stripping types.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/excursor", import.meta.url)) },
    // Two cores: more workers only fight for them, and the fault suites notice.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: "isolated", include: ["test/**/*.test.ts"], exclude: [...OWN_SCRIPTS, ...STATELESS] },
      },
      { extends: true, test: { name: "stateless", include: STATELESS, isolate: false } },
    ],
  },
});
