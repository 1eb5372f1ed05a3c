import { styleText } from "node:util";
import { examine, type NamedFinding } from "../doctor/examine.ts";
import { startSpinner } from "../terminal/spinner.ts";

export interface DoctorFlags {
  readonly account?: string | undefined;
  readonly upstream?: string | undefined;
  readonly model?: string | undefined;
  readonly demo: boolean;
  readonly quick: boolean;
  readonly json: boolean;
}

export async function runDoctor({ account, upstream, json, ...flags }: DoctorFlags): Promise<void> {
  const findings = await examine({
    ...flags,
    settings: { account, upstream },
    onCheck: startSpinner,
    ...(!json && { onFinding: (finding) => process.stdout.write(format(finding)) }),
  });
  if (json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  process.exitCode = exitCode(findings);
}

const MARKS = { ok: ["ok", "green"], warn: ["warn", "yellow"], fail: ["fail", "red"], skip: ["-", "dim"] } as const;

function format({ id, status, text, fix }: NamedFinding): string {
  const [mark, colour] = MARKS[status];
  const label = styleText(colour, mark.padEnd(5), { stream: process.stdout });
  return `${label} ${id.padEnd(28)} ${text}${fix === undefined ? "" : ` ${fix}`}\n`;
}

const exitCode = (findings: readonly NamedFinding[]): number =>
  findings.some(({ status }) => status === "fail") ? 2 : findings.some(({ status }) => status === "warn") ? 1 : 0;
