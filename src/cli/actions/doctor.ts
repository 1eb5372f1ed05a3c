import { styleText } from "node:util";
import { openAccounts } from "../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../app/load-config.ts";
import { jsonText } from "../../core/printable.ts";
import { examine, type NamedFinding } from "../doctor/examine.ts";
import { openVersionProbe } from "../doctor/open-version-probe.ts";
import { probeVersions } from "../doctor/probe-versions.ts";
import { startSpinner } from "../terminal/spinner.ts";

export interface DoctorFlags {
  readonly account?: string | undefined;
  readonly upstream?: string | undefined;
  readonly model?: string | undefined;
  readonly demo: boolean;
  readonly quick: boolean;
  readonly probeVersion: boolean;
  readonly json: boolean;
}

export async function runDoctor({ account, upstream, json, probeVersion, ...flags }: DoctorFlags): Promise<void> {
  const settings = { account, upstream };
  const show = (finding: NamedFinding) => process.stdout.write(format(finding));
  const findings = probeVersion
    ? await askForVersions(settings)
    : await examine({ ...flags, settings, onCheck: startSpinner, ...(!json && { onFinding: show }) });
  if (probeVersion && !json) for (const finding of findings) show(finding);
  if (json) process.stdout.write(`${jsonText(findings, 2)}\n`);
  process.exitCode = exitCode(findings);
}

async function askForVersions(flags: Readonly<Record<string, string | undefined>>): Promise<readonly NamedFinding[]> {
  const loaded = loadConfig({ flags, environment: process.env });
  const accounts = openAccounts(loaded, { onSecret: () => {}, onNotice: () => {} });
  const spinner = startSpinner();
  try {
    return await probeVersions(openVersionProbe(loaded, accounts));
  } finally {
    spinner.stop();
    accounts.close();
  }
}

const MARKS = { ok: ["ok", "green"], warn: ["warn", "yellow"], fail: ["fail", "red"], skip: ["-", "dim"] } as const;

function format({ id, status, text, fix }: NamedFinding): string {
  const [mark, colour] = MARKS[status];
  const label = styleText(colour, mark.padEnd(5), { stream: process.stdout });
  return `${label} ${id.padEnd(28)} ${text}${fix === undefined ? "" : ` ${fix}`}\n`;
}

const exitCode = (findings: readonly NamedFinding[]): number =>
  findings.some(({ status }) => status === "fail") ? 2 : findings.some(({ status }) => status === "warn") ? 1 : 0;
