import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { scanCapture } from "../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CallList } from "../../src/capture/view/call-list.ts";
import { type BenchResult, median, ROUNDS, spreadOf } from "../harness/measure.ts";

const GiB = 1024 ** 3;
const MiB = 1024 ** 2;
/** One run of an agent: its request, 400 pieces of text, each of which arrives alone, and ten blobs. */
const RUN = { request: 20_000, pieces: 400, pieceBytes: 60, blobs: 10, blobBytes: 5000 };
const BIN = fileURLToPath(new URL("../../bin/excursor.js", import.meta.url));

/** A capture of 1 GB: the memory to list it, and the time to find a conversation in it. */
export async function measureCaptureFile(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "excursor-bench-"));
  try {
    const file = join(folder, "large.capture");
    const { calls, conversation } = writeCapture(file);
    const find = async () => {
      const list = new CallList({ conversation });
      await scanCapture(file, (stored) => list.add(stored), {
        wantsMessage: (call, count) => list.countMessage(call, count),
      });
      if (list.wanted().length !== 1) throw new Error(`found ${list.wanted().length} calls`);
    };
    const ratios: number[] = [];
    // The first round brings the file into the cache.
    for (let round = 0; round <= ROUNDS; round++) {
      const plain = await timed(() => readPlain(file));
      const found = await timed(find);
      if (round > 0) ratios.push(found / plain);
    }
    const peak = await peakBytes(["inspect", file]);
    const found = await peakBytes(["inspect", file, "--conversation", conversation]);
    const note = `${(statSync(file).size / GiB).toFixed(2)} GB, ${calls} calls, ${calls * (RUN.pieces + RUN.blobs + 1)} messages`;
    return [
      { name: "capture of 1 GB: memory to list it", value: peak / MiB, unit: "MiB", bound: 200, note },
      { name: "capture of 1 GB: memory to find one conversation", value: found / MiB, unit: "MiB", bound: 200 },
      {
        name: "capture of 1 GB: find a conversation / read the file",
        value: median(ratios),
        bound: 2,
        note: spreadOf(ratios, 2),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeCapture(file: string): { readonly calls: number; readonly conversation: string } {
  const writer = new CaptureWriter({ file, maxBytes: 2 * GiB, onEnd: (reason) => console.error(reason) });
  const [request, piece, blob] = [RUN.request, RUN.pieceBytes, RUN.blobBytes].map((size) => Buffer.alloc(size, 97)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  const envelope = Buffer.alloc(5);
  envelope.writeUInt32BE(piece.length, 1);
  const delta = Buffer.concat([envelope, piece]);
  const message = { type: "message", form: "frame", flags: 0, wasCompressed: false } as const;
  const headers = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`x-header-${index}`, "v".repeat(40)]));
  let [call, conversation] = [0, ""];
  while (writer.bytes < GiB) {
    const place = { call: ++call, at: Date.now() + call };
    const id = randomUUID();
    if (call === 5000) conversation = id;
    const head = { method: "POST", origin: "https://backend", path: "/agent.v1.AgentService/Run", headers };
    writer.write({ type: "call", ...place, head: { ...head, transport: "h2" } });
    writer.write({ type: "note", ...place, note: { type: "conversation", id } });
    writer.write({ ...message, ...place, direction: "sent", bytes: request });
    writer.write({ type: "response", ...place, head: { status: 200, headers: {} } });
    for (let index = 0; index < RUN.pieces; index++) {
      writer.write({ type: "frames", ...place, direction: "received", bytes: delta });
      if (index % (RUN.pieces / RUN.blobs) === 0)
        writer.write({ ...message, ...place, direction: "received", bytes: blob });
    }
    writer.write({ type: "end", ...place, end: { outcome: "ok", sentBytes: 1, receivedBytes: 1 } });
  }
  writer.close();
  return { calls: call, conversation };
}

async function readPlain(file: string): Promise<void> {
  const handle = await open(file);
  const buffer = Buffer.allocUnsafe(MiB);
  try {
    while ((await handle.read(buffer, 0, buffer.length)).bytesRead > 0);
  } finally {
    await handle.close();
  }
}

/** The CPU time of this process: other load on the machine does not count. */
async function timed(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const TELL_PEAK = `data:text/javascript,${encodeURIComponent(
  'process.on("exit", () => process.stderr.write("peak " + process.resourceUsage().maxRSS))',
)}`;

/** Runs the command line, and returns the most memory that it had. */
async function peakBytes(args: readonly string[]): Promise<number> {
  const node = ["--import", TELL_PEAK, BIN, ...args];
  const { stderr } = await promisify(execFile)(process.execPath, node, { maxBuffer: 64 * MiB });
  return Number(/peak (\d+)/.exec(stderr)?.[1]) * 1024;
}
