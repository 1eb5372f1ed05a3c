import { measureCaptureCost } from "./capture-cost.ts";
import { measureCaptureFile } from "./capture-file.ts";
import { measureCluster } from "./cluster.ts";
import { measureColdStart } from "./cold-start.ts";
import { measureCpuPerToken } from "./cpu-per-token.ts";
import { measureCursorFace } from "./cursor-face.ts";
import { measureDashboard } from "./dashboard.ts";
import { measureDialects } from "./dialects.ts";
import { measureDisconnect } from "./disconnect.ts";
import { measureFirstToken } from "./first-token.ts";
import { measureFrameParser } from "./frame-parser.ts";
import { measureHub } from "./hub.ts";
import { measureIdePatch } from "./ide-patch.ts";
import { measureIdleStreams } from "./idle-streams.ts";
import { measureInstalled } from "./installed.ts";
import { type BenchResult, holds } from "./measure.ts";
import { measureMetricsCost } from "./metrics-cost.ts";
import { measurePacedStreams } from "./paced-streams.ts";
import { measureParkedRuns, measureResume } from "./parked-runs.ts";
import { isPinned } from "./processes.ts";
import { measureRequestCost } from "./request-cost.ts";
import { measureShortRequests } from "./short-requests.ts";
import { measureStalledReader } from "./stalled-reader.ts";
import { openTestbed, type Testbed } from "./testbed.ts";
import { measureTextDelta } from "./text-delta.ts";
import { measureThinkSplitter } from "./think-splitter.ts";
import { measureThinkingPath } from "./thinking-path.ts";
import { measureToolTask } from "./tool-task.ts";
import { measureUsageRecord } from "./usage-record.ts";

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
