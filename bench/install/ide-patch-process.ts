import { createHash } from "node:crypto";
import fs from "node:fs";
import { patchApp, restoreApp } from "../../src/ide/change-app.ts";
import { type IdeHost, systemHost } from "../../src/ide/host.ts";

/**
 * Runs in a separate process to measure the patcher's own memory: `node ide-patch-process.ts ROOT HOME BUNDLE ROUNDS`.
 */
const [root = "", home = "", bundle = "", rounds = "1"] = process.argv.slice(2);

const system = systemHost({
  machine: { platform: process.platform, environment: {}, userHome: home },
  home,
  signal: new AbortController().signal,
  onStep: () => {},
});
const isAlone = rounds === "1";
/** The time of the syntax check, which runs in another process and is reported separately. */
let checkMs = 0;
const host: IdeHost = {
  ...system,
  run: async (command, args) => {
    if (!isAlone) return { code: 0, output: "" };
    const start = performance.now();
    const result = await system.run(command, args);
    checkMs += performance.now() - start;
    return result;
  },
};

/** Baseline: reads, hashes, writes and syncs one file. */
function copyOnce(): void {
  const bytes = fs.readFileSync(bundle);
  createHash("sha256").update(bytes).digest();
  const file = fs.openSync(`${home}/copy`, "wx");
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
  fs.fsyncSync(file);
  fs.closeSync(file);
}

const times: { patchMs: number; checkMs: number; copyMs: number }[] = [];
for (let round = 0; round < Number(rounds); round++) {
  let copyMs = 0;
  // Skipped while memory is measured.
  if (!isAlone) {
    const start = performance.now();
    copyOnce();
    copyMs = performance.now() - start;
    fs.unlinkSync(`${home}/copy`);
  }
  checkMs = 0;
  const start = performance.now();
  await patchApp(host, root, { resign: false });
  times.push({ patchMs: performance.now() - start - checkMs, checkMs, copyMs });
  if (!isAlone) await restoreApp(host, root);
}
console.log(JSON.stringify({ times, maxRssBytes: process.resourceUsage().maxRSS * 1024 }));
