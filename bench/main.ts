import { measureCluster } from "./cluster/cluster.ts";
import { drift } from "./drift/drift.ts";
import { type BenchResult, holds } from "./harness/measure.ts";
import { isPinned } from "./harness/processes.ts";
import { openTestbed, type Testbed } from "./harness/testbed.ts";
import { measureColdStart } from "./install/cold-start.ts";
import { measureIdePatch } from "./install/ide-patch.ts";
import { measureInstalled } from "./install/installed.ts";
import { measureCaptureCost } from "./records/capture-cost.ts";
import { measureCaptureFile } from "./records/capture-file.ts";
import { measureDashboard } from "./records/dashboard.ts";
import { measureMetricsCost } from "./records/metrics-cost.ts";
import { measureUsageRecord } from "./records/usage-record.ts";
import { measureFrameParser } from "./steps/frame-parser.ts";
import { measurePatterns } from "./steps/patterns.ts";
import { measureRequestCost } from "./steps/request-cost.ts";
import { measureTextDelta } from "./steps/text-delta.ts";
import { measureThinkSplitter } from "./steps/think-splitter.ts";
import { measureCpuPerToken } from "./streams/cpu-per-token.ts";
import { measureCursorFace } from "./streams/cursor-face.ts";
import { measureDialects } from "./streams/dialects.ts";
import { measureDisconnect } from "./streams/disconnect.ts";
import { measureFirstToken } from "./streams/first-token.ts";
import { measureIdleStreams } from "./streams/idle-streams.ts";
import { measurePacedStreams } from "./streams/paced-streams.ts";
import { measureShortRequests } from "./streams/short-requests.ts";
import { measureStalledReader } from "./streams/stalled-reader.ts";
import { measureThinkingPath } from "./streams/thinking-path.ts";
import { measureHub } from "./tools/hub.ts";
import { measureParkedRuns, measureResume } from "./tools/parked-runs.ts";
import { measureToolTask } from "./tools/tool-task.ts";

/** Measures every figure that we claim. Exits with 1 if a bound is missed. */
const BENCHES: Readonly<Record<string, (bed: Testbed) => Promise<BenchResult[]>>> = {
  "frame-parser": measureFrameParser,
  "text-delta": measureTextDelta,
  "cpu-per-token": measureCpuPerToken,
  dialects: measureDialects,
  "request-cost": measureRequestCost,
  "first-token": measureFirstToken,
  "short-requests": measureShortRequests,
  "metrics-cost": measureMetricsCost,
  "capture-cost": measureCaptureCost,
  "capture-file": measureCaptureFile,
  "usage-record": measureUsageRecord,
  "paced-streams": measurePacedStreams,
  disconnect: measureDisconnect,
  "idle-streams": measureIdleStreams,
  "tool-task": measureToolTask,
  "parked-runs": measureParkedRuns,
  resume: measureResume,
  "stalled-reader": measureStalledReader,
  "cold-start": measureColdStart,
  installed: measureInstalled,
  "ide-patch": measureIdePatch,
  "think-splitter": measureThinkSplitter,
  patterns: measurePatterns,
  hub: measureHub,
  "thinking-path": measureThinkingPath,
  "cursor-face": measureCursorFace,
  dashboard: measureDashboard,
  cluster: measureCluster,
};

const NAME_WIDTH = 56;

function print(result: BenchResult): void {
  const { name, value, unit = "×", bound, least, note = "" } = result;
  const verdict = bound === undefined && least === undefined ? "" : holds(result) ? "pass" : "MISS";
  const limit = bound !== undefined ? `≤ ${bound}` : least !== undefined ? `≥ ${least}` : "";
  const shown = `${value.toFixed(Math.abs(value) >= 100 || unit === "tokens" ? 0 : 2)} ${unit}`;
  console.log(`${verdict.padEnd(4)} ${name.padEnd(NAME_WIDTH)} ${shown.padStart(10)}  ${limit.padEnd(6)}  ${note}`);
}

async function main(wanted: readonly string[]): Promise<void> {
  if (wanted[0] === "drift") {
    process.exitCode = await drift(wanted.slice(1));
    return;
  }
  const unknown = wanted.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    console.error(`There is no bench ${JSON.stringify(unknown)}: ${Object.keys(BENCHES).join(", ")}.`);
    process.exitCode = 64;
    return;
  }
  if (!isPinned) console.log("Not pinned to cores (that needs two of them, and taskset): expect more noise.");
  const bed = await openTestbed();
  try {
    for (const [name, measure] of Object.entries(BENCHES)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      for (const result of await measure(bed)) {
        print(result);
        if (!holds(result)) process.exitCode = 1;
      }
    }
  } finally {
    await bed.stop();
  }
}

await main(process.argv.slice(2));
