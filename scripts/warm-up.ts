import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// Fills Node's compile cache (see bin/excursor.js) after an install, by one answer of the demo, so that the first start
// is as fast as any other. A failure only makes the first start about a second slower.
const program = fileURLToPath(new URL("../bin/excursor.js", import.meta.url));
spawnSync(process.execPath, [program, "chat", "--demo", "@sim say ready"], { stdio: "ignore", timeout: 60_000 });

// Bundles the dashboard. A failure only makes its first page slower: the gateway tries again.
const bundler = fileURLToPath(new URL("build-ui.ts", import.meta.url));
spawnSync(process.execPath, [bundler], { stdio: "ignore", timeout: 60_000 });
