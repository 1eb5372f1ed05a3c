import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Other people's clients and servers, installed on demand (`npm run test:clients`, `test:mcp`), a real workbench (`test:ide`),
    // a fault at every frame (`test:faults`), kills of the usage record (`test:usage`), hostile clients and peers (`test:attack`), a real Prometheus (`test:metrics`), and
    // the packed package (`test:package`).
    exclude: [
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
    ],
    testTimeout: 20_000,
    // The cache of bin/excursor.js, for every process that a test starts from sources: half of its start is stripping types.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/excursor", import.meta.url)) },
    // Two cores: more workers only fight for them, and the fault suites notice.
    maxWorkers: 2,
  },
});
