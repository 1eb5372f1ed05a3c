import { ExcursorError } from "../../../core/errors.ts";
import { jsonText } from "../../../core/printable.ts";
import { compareSchemas, type Difference, isConflict } from "../../../drift/compare-schemas.ts";
import { schemaOf } from "../../../drift/own-schema.ts";
import { loadOwnFiles } from "../../../drift/own-schema-files.ts";
import { readSdk } from "../../../drift/read-sdk.ts";
import { readTraffic } from "../../../drift/read-traffic.ts";
import { openMaskedCapture } from "../../open-masked-capture.ts";
import { formatTable } from "../../terminal/format-table.ts";

interface DriftFlags {
  readonly file: string | undefined;
  readonly sdk?: string | undefined;
  readonly rpcs: boolean;
  readonly json: boolean;
}

/** Returns the exit code. */
export async function runDrift({ file, sdk, rpcs, json }: DriftFlags): Promise<number> {
  if ((file === undefined) === (sdk === undefined))
    throw new ExcursorError("config", "drift needs either a capture or --sdk.", {
      hint: "Write `excursor drift FILE` or `excursor drift --sdk VERSION`.",
    });
  return file === undefined ? compareSdk(sdk ?? "", rpcs, json) : compareTraffic(file, json);
}

async function compareTraffic(file: string, json: boolean): Promise<number> {
  const { differences, read, problem } = await readTraffic(openMaskedCapture(file));
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  const conflicts = differences.filter(isConflict).length;
  const rows = conflictsFirst(differences).map(
    ({ type, what, owner, name, ours = "", theirs = "", count, example }) => [
      type,
      what,
      owner,
      name,
      ours,
      theirs,
      String(count),
      example,
    ],
  );
  const heading = ["DIFFERENCE", "OF", "IN", "NAME", "OURS", "CURSOR'S", "COUNT", "EXAMPLE"];
  const table = rows.length === 0 ? "" : `${formatTable(heading, rows)}\n`;
  const sizes = `${read.messages} messages of ${read.calls} calls.`;
  process.stdout.write(
    json ? `${jsonText({ conflicts, read, differences }, 2)}\n` : `${table}${sizes} ${summaryOf(differences)}\n`,
  );
  return conflicts > 0 ? 1 : 0;
}

async function compareSdk(sdk: string, rpcs: boolean, json: boolean): Promise<number> {
  const theirs = await readSdk(sdk);
  const found = compareSchemas(schemaOf(await loadOwnFiles()), theirs);
  const conflicts = found.filter(isConflict).length;
  const differences = rpcs ? found : found.filter(({ what, type }) => what !== "rpc" || type !== "missing");
  const output = json
    ? `${jsonText({ conflicts, read: sizesOf(theirs), differences }, 2)}\n`
    : `${formatDifferences(differences)}${summaryOf(found)}\n`;
  process.stdout.write(output);
  return conflicts > 0 ? 1 : 0;
}

const sizesOf = ({ messages, enums, methods }: Awaited<ReturnType<typeof readSdk>>) => ({
  messages: messages.size,
  enums: enums.size,
  rpcs: methods.size,
});

const conflictsFirst = <Item extends Difference>(differences: readonly Item[]): readonly Item[] =>
  differences.toSorted((a, b) => Number(isConflict(b)) - Number(isConflict(a)));

function formatDifferences(differences: readonly Difference[]): string {
  if (differences.length === 0) return "";
  const rows = conflictsFirst(differences).map(({ type, what, owner, number, name, ours = "", theirs = "" }) => [
    type,
    what,
    owner,
    String(number ?? ""),
    name,
    ours,
    theirs,
  ]);
  return `${formatTable(["DIFFERENCE", "OF", "IN", "NUMBER", "NAME", "OURS", "CURSOR'S"], rows)}\n`;
}

function summaryOf(found: readonly Difference[]): string {
  const counts = new Map<string, number>();
  for (const { type, what } of found) counts.set(`${type} ${what}`, (counts.get(`${type} ${what}`) ?? 0) + 1);
  const parts = [...counts].map(([kind, count]) => `${kind}: ${count}`);
  const conflicts = found.filter(isConflict).length;
  return `${parts.join(", ") || "No differences"}. ${conflicts === 0 ? "No conflicts." : `${conflicts} conflicts.`}`;
}
