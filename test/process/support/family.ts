import { spawn } from "node:child_process";

/** A program that starts another one, says both numbers, and stays. `deaf` does not hear TERM, nor the end of stdin. */
const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)"], {
  stdio: "ignore",
});
if (process.argv.includes("deaf")) process.on("SIGTERM", () => {});
else process.stdin.on("end", () => process.exit(0)).resume();
setInterval(() => {}, 1e6);
process.stdout.write(`${JSON.stringify([process.pid, child.pid])}\n`);
