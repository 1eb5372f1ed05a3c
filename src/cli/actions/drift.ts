import { compareSchemas, type Difference, isConflict } from "../../drift/compare-schemas.ts";
import { schemaOf } from "../../drift/own-schema.ts";
import { loadOwnFiles } from "../../drift/own-schema-files.ts";
import { readSdk } from "../../drift/read-sdk.ts";
import { formatTable } from "../terminal/format-table.ts";
import { printable } from "../terminal/printable.ts";

interface DriftFlags {
  readonly sdk: string;
  readonly rpcs: boolean;
  readonly json: boolean;
}

/** Returns the exit code. */
export async function runDrift({ sdk, rpcs, json }: DriftFlags): Promise<number> {
  const theirs = await readSdk(sdk);
  const found = compareSchemas(schemaOf(await loadOwnFiles()), theirs);
  const conflicts = found.filter(isConflict).length;
  const differences = rpcs ? found : found.filter(({ what, type }) => what !== "rpc" || type !== "missing");
  const output = json
    ? `${JSON.stringify({ conflicts, read: sizesOf(theirs), differences }, null, 2)}\n`
    : `${formatDifferences(differences)}${summaryOf(found)}\n`;
  process.stdout.write(output);
  return conflicts > 0 ? 1 : 0;
}

const sizesOf = ({ messages, enums, methods }: Awaited<ReturnType<typeof readSdk>>) => ({
  messages: messages.size,
  enums: enums.size,
  rpcs: methods.size,
});

function formatDifferences(differences: readonly Difference[]): string {
  if (differences.length === 0) return "";
  const rows = differences
    .toSorted((a, b) => Number(isConflict(b)) - Number(isConflict(a)))
    .map(({ type, what, owner, number, name, ours = "", theirs = "" }) =>
      [type, what, owner, String(number ?? ""), name, ours, theirs].map(printable),
    );
  return `${formatTable(["DIFFERENCE", "OF", "IN", "NUMBER", "NAME", "OURS", "CURSOR'S"], rows)}\n`;
}

function summaryOf(found: readonly Difference[]): string {
  const counts = new Map<string, number>();
  for (const { type, what } of found) counts.set(`${type} ${what}`, (counts.get(`${type} ${what}`) ?? 0) + 1);
  const parts = [...counts].map(([kind, count]) => `${kind}: ${count}`);
  const conflicts = found.filter(isConflict).length;
  return `${parts.join(", ") || "No differences"}. ${conflicts === 0 ? "No conflicts." : `${conflicts} conflicts.`}`;
}
