import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// Node keeps what it has compiled of the sources (see bin/excursor.js). One answer of the demo after an install, and the
// first start of a newcomer is as quick as any other. If it fails, that one is a second slower, and nothing else.
const program = fileURLToPath(new URL("../bin/excursor.js", import.meta.url));
spawnSync(process.execPath, [program, "chat", "--demo", "@sim say ready"], { stdio: "ignore", timeout: 60_000 });
