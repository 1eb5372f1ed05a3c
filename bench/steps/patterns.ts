import { findPatterns, readReviewed } from "../../scripts/patterns.ts";
import { Masker } from "../../src/capture/mask/masker.ts";
import { DIAGNOSTICS } from "../../src/drivers/cursor/replies/native/diagnostics.ts";
import { failureOf } from "../../src/drivers/cursor/replies/native/results/failure.ts";
import { fileList } from "../../src/drivers/cursor/replies/native/results/file-list.ts";
import { fileText } from "../../src/drivers/cursor/replies/native/results/file-text.ts";
import { grepLines } from "../../src/drivers/cursor/replies/native/results/grep-lines.ts";
import { listing } from "../../src/drivers/cursor/replies/native/results/listing.ts";
import { shellOutput } from "../../src/drivers/cursor/replies/native/results/shell-output.ts";
import { parseShell } from "../../src/faces/cursor/run/tools/parse-shell.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { parseRoot, unwrapUserQuery } from "../../src/wire/agent/state/root-messages.ts";
import { type BenchResult, interleave } from "../harness/measure.ts";

const KIB = 1024;
const MAX_MS = 100;
const MAX_GROWTH = 3;
/** A shorter time is noise. */
const FLOOR_NS = 300_000;

/** What is repeated in the texts of the audit, A18 to A21. */
const AUDITED = ["0:1:", "0", "0-1-", "-eyJ", '\\"password\\":\\"', "Bearer   "];
const UNITS = [
  ...AUDITED,
  "( ",
  "data:,",
  ..."\\\"'`=:@%~;[](){}<>-_./|$ \n\taA1",
  "token=",
  "token:",
  '"token":"',
  "a@b.",
  "://a:",
  "[truncated",
  "no errors ",
  " sorted by modification time",
  "</user_query> ",
  "</tool_use_error> ",
  "PRIVATE KEY-----",
  "-----",
  "\\n",
  "\\u0041",
  "%40",
  "│ ",
  "```",
];
/** What stands before and behind. */
const AROUND = [
  ["", ""],
  ["", "\u2028"],
  ["Bearer", "x"],
  ['{"password":"', ""],
  ["(", "\u2028)"],
] as const;

const textOf = (bytes: number, unit: string, [start, end]: (typeof AROUND)[number]): string =>
  start + unit.repeat(Math.ceil(bytes / unit.length)) + end;

const said = (text: string) =>
  ({ role: "tool", callId: "1", isError: false, content: [{ type: "text", text }] }) as unknown as Parameters<
    typeof shellOutput
  >[0];

/** What reads texts of models, clients, upstreams and tools. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  redactor: (text) => createRedactor().redact(text),
  masker: (text) => new Masker().text(text),
  "masker, learning": (text) => new Masker().learn(Buffer.from(text), "text"),
  grepLines: (text) => grepLines(text, "a"),
  fileText,
  fileList,
  listing: (text) => listing("/", text),
  shellOutput: (text) => shellOutput(said(text)),
  failureOf: (text) => failureOf(said(text)),
  diagnostics: (text) => DIAGNOSTICS[0]?.results?.({ path: "a" } as never, said(text), {} as never),
  unwrapUserQuery,
  parseRoot: (text) =>
    parseRoot(Buffer.from(JSON.stringify({ role: "user", content: [{ type: "image", image: text }] }))),
  parseShell,
};

/** Measures that nothing takes more than a time in proportion to a hostile text. */
export async function measurePatterns(): Promise<BenchResult[]> {
  const textsOf = (units: readonly string[]) =>
    units.flatMap((unit) => AROUND.map((around) => (bytes: number) => textOf(bytes, unit, around)));
  const texts = textsOf(UNITS);
  const { patterns } = findPatterns();
  // Those that were reviewed read no text of strangers.
  const reviewed = readReviewed();
  const asked = patterns.filter(({ source, flags }) => !(`/${source}/${flags}` in reviewed));
  const expressions = asked.map(({ place, source, flags }) => {
    const pattern = new RegExp(source, flags.replace("g", ""));
    const test = (text: string) => {
      pattern.lastIndex = 0;
      return pattern.test(text);
    };
    return [place, test] as const;
  });
  return [
    worstGrowth("patterns: expressions, 16 KiB / 8 KiB", expressions, texts, 8 * KIB),
    worstGrowth("patterns: readers, 16 KiB / 8 KiB", Object.entries(READERS), texts, 8 * KIB),
    worstTime("patterns: 1 MiB of a text of the audit", Object.entries(READERS), textsOf(AUDITED)),
  ];
}

type Readers = readonly (readonly [name: string, read: (text: string) => unknown])[];
type Texts = readonly ((bytes: number) => string)[];

function worstGrowth(name: string, readers: Readers, texts: Texts, bytes: number): BenchResult {
  let worst = { value: 0, note: "" };
  for (const make of texts) {
    const large = make(2 * bytes);
    for (const [reader, read] of readers) {
      if (timeOf(() => read(large)) < FLOOR_NS) continue;
      const once = growth(read, make, bytes);
      // Where a square grows, it goes on growing; a collection of garbage, or a bound, does not.
      const value = once > MAX_GROWTH ? Math.min(once, growth(read, make, 8 * bytes)) : once;
      if (value > worst.value) worst = { value, note: `${reader}: ${JSON.stringify(large.slice(0, 30))}` };
    }
  }
  return { name, ...worst, bound: MAX_GROWTH };
}

function growth(read: (text: string) => unknown, make: Texts[number], bytes: number): number {
  const [small, large] = [make(bytes), make(2 * bytes)];
  const times = interleave({ small: () => read(small), large: () => read(large) });
  // The least of some rounds: other load on the machine is no growth.
  return Math.min(...times.large) / Math.min(...times.small);
}

function worstTime(name: string, readers: Readers, texts: Texts): BenchResult {
  let worst = { value: 0, note: "" };
  for (const make of texts) {
    const text = make(KIB * KIB);
    for (const [reader, read] of readers) {
      const once = timeOf(() => read(text)) / 1e6;
      // Other load on the machine is no fault of the reader.
      const value =
        once < MAX_MS ? once : Math.min(once, timeOf(() => read(text)) / 1e6, timeOf(() => read(text)) / 1e6);
      if (value > worst.value) worst = { value, note: `${reader}: ${JSON.stringify(text.slice(0, 30))}` };
    }
  }
  return { name, ...worst, unit: "ms", bound: MAX_MS };
}

function timeOf(work: () => unknown): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start);
}
