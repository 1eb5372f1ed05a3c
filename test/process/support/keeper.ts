import { fileURLToPath } from "node:url";
import { startGroup } from "../../../src/process/process-group.ts";
import { createWatchdog } from "../../../src/process/watchdog.ts";

/** A process with several groups, as a gateway has them; it tells their numbers and waits to be killed. */
const watchdog = createWatchdog();
const args = [fileURLToPath(new URL("family.ts", import.meta.url)), "deaf"];
for (let count = 0; count < 3; count++) {
  const { child } = await startGroup({ command: process.execPath, args, environment: {}, watchdog });
  child.stdout.pipe(process.stdout);
}
