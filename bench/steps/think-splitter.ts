import { ThinkSplitter } from "../../src/core/thinking/think-splitter.ts";
import { type BenchResult, interleave, median, medianRatio } from "../harness/measure.ts";

const MB = 1000 * 1000;
const PLAIN_BYTES = 64 * MB;
const SENTENCE =
  "It is 3 < 4 and a <b>bold</b> one, `x` and so on; the quick brown fox jumps over the lazy dog again.\n";

/** Measures the speed of text without tags, and that no input makes it slow. */
export async function measureThinkSplitter(): Promise<BenchResult[]> {
  const chunk = SENTENCE.repeat(160);
  const [small, large] = ["<".repeat(2 * MB), "<".repeat(4 * MB)];
  const times = interleave({
    plain: () => split([chunk], PLAIN_BYTES / chunk.length),
    small: () => split([small], 1),
    large: () => split([large], 1),
    fewPieces: () => split(["<"], MB / 4),
    manyPieces: () => split(["<"], MB / 2),
  });
  return [
    {
      name: "think splitter: text without tags",
      value: PLAIN_BYTES / MB / (median(times.plain) / 1e9),
      unit: "MB/s",
      least: 300,
    },
    { name: "think splitter: 4 MB / 2 MB of <", value: medianRatio(times.large, times.small), bound: 2.5 },
    {
      name: "think splitter: 0.5 M / 0.25 M pieces of <",
      value: medianRatio(times.manyPieces, times.fewPieces),
      bound: 2.5,
    },
  ];
}

function split(pieces: readonly string[], rounds: number): void {
  const splitter = new ThinkSplitter();
  let [length, expected] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    for (const piece of pieces) {
      expected += piece.length;
      for (const part of splitter.push(piece)) length += part.type === "text" ? part.text.length : Number.NaN;
    }
  }
  for (const part of splitter.end()) length += part.type === "text" ? part.text.length : Number.NaN;
  if (length !== expected) throw new Error(`expected ${expected} characters, got ${length}`);
}
