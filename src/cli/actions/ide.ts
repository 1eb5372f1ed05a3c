import { styleText } from "node:util";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText, printable } from "../../core/printable.ts";
import { findInstalls, openInstall } from "../../ide/app/find-installs.ts";
import { RESIGN_PRICE } from "../../ide/app/signature.ts";
import { patchApp, previewPatch, previewRestore, restoreApp } from "../../ide/change-app.ts";
import { type Check, examine } from "../../ide/doctor.ts";
import type { IdeHost } from "../../ide/host.ts";
import { type AppStatus, statusOf } from "../../ide/status.ts";
import { chooseInstall } from "../ide/choose-install.ts";
import { openIdeHost } from "../ide/open-ide-host.ts";
import { formatEdit } from "../terminal/format-edit.ts";

interface IdeFlags {
  readonly app?: string | undefined;
  readonly json: boolean;
}

const RESTART = "Restart Cursor for the change to take effect.";

export async function runStatus({ app, json }: IdeFlags): Promise<void> {
  const host = openIdeHost();
  const rows = app === undefined ? statusOfAll(host) : [statusOf(host, openApp(host, app))];
  if (json) return printJson(rows);
  for (const row of rows) process.stdout.write(formatStatus(row));
}

function statusOfAll(host: IdeHost): readonly StatusRow[] {
  const installs = findInstalls(host.files, host.machine);
  if (installs.length === 0) throw nothingFound();
  return installs.map(({ root, refused }) =>
    refused ? { root, state: "refused", explanation: `It ${refused.why}. ${refused.remedy}` } : readStatus(host, root),
  );
}

export async function runPatch(
  flags: IdeFlags & { readonly dryRun: boolean; readonly resign?: "adhoc" | undefined },
): Promise<void> {
  const host = openIdeHost();
  const root = await chooseApp(host, flags.app);
  if (flags.dryRun) {
    const plan = previewPatch(host, root);
    if (flags.json)
      return printJson(
        plan
          ? { root, edits: plan.edits.map(withoutBytes), checksums: plan.checksums }
          : { root, edits: [], checksums: [] },
      );
    process.stdout.write(plan ? formatEdit(plan) : `${root} is already patched.\n`);
    return;
  }
  if (flags.resign) process.stderr.write(`${RESIGN_PRICE}\n`);
  const outcome = await patchApp(host, root, { resign: flags.resign === "adhoc" });
  if (flags.json) return printJson({ root, outcome: outcome.type });
  process.stdout.write(outcome.type === "already" ? `${root} is already patched.\n` : `Patched ${root}. ${RESTART}\n`);
}

export async function runRestore(flags: IdeFlags & { readonly dryRun: boolean }): Promise<void> {
  const host = openIdeHost();
  const root = await chooseApp(host, flags.app);
  if (flags.dryRun) {
    const paths = previewRestore(host, root);
    if (flags.json) return printJson({ root, paths });
    process.stdout.write(
      paths.length === 0
        ? "There is nothing to restore.\n"
        : `Would restore in ${root}:\n${paths.map((path) => `  ${path}\n`).join("")}`,
    );
    return;
  }
  const outcome = await restoreApp(host, root);
  if (flags.json)
    return printJson({ root, outcome: outcome.type, ...(outcome.type === "nothing" && { why: outcome.why }) });
  if (outcome.type === "nothing") {
    const why =
      outcome.why === "updated" ? "Cursor was updated since, and the update removed the patch" : "it is not patched";
    process.stdout.write(`There is nothing to restore in ${root}: ${why}.\n`);
    return;
  }
  process.stdout.write(`Restored ${root}. ${RESTART}\n`);
  if (outcome.isResigned)
    process.stderr.write(
      "The app was signed again when it was patched. Reinstall Cursor to get its own signature back.\n",
    );
}

const LEVELS = { ok: ["green", 0], warn: ["yellow", 1], fail: ["red", 2] } as const;

export async function runDoctor({ app, json }: IdeFlags): Promise<void> {
  const host = openIdeHost();
  const root = await chooseApp(host, app);
  const checks = await examine(host, root);
  process.exitCode = Math.max(...checks.map(({ level }) => LEVELS[level][1]));
  if (json) return printJson({ root, checks });
  process.stdout.write(`${root}\n${checks.map(formatCheck).join("")}`);
}

function formatCheck({ id, level, text, fix }: Check): string {
  const mark = styleText(LEVELS[level][0], level.padEnd(4), { stream: process.stdout });
  const line = `${mark}  ${printable(id)}: ${printable(text)}\n`;
  return fix === undefined || level === "ok" ? line : `${line}      ${printable(fix)}\n`;
}

type StatusRow = AppStatus | { readonly root: string; readonly state: string; readonly explanation: string };

function formatStatus(row: StatusRow): string {
  const version = "version" in row ? ` ${row.version}` : "";
  const state = styleText("bold", row.state, { stream: process.stdout });
  return `Cursor${printable(version)}: ${state}\n  ${printable(row.root)}\n  ${printable(row.explanation)}\n`;
}

/** Reports an unreadable app as a row, so that the others are still listed. */
function readStatus(host: IdeHost, root: string): StatusRow {
  try {
    return statusOf(host, root);
  } catch (error) {
    return { root, state: "unreadable", explanation: ExcursorError.from(error).message };
  }
}

const openApp = ({ files, machine }: IdeHost, path: string): string => openInstall(files, machine, path);

async function chooseApp(host: IdeHost, named: string | undefined): Promise<string> {
  if (named !== undefined) return openApp(host, named);
  const installs = findInstalls(host.files, host.machine);
  if (installs.length === 0) throw nothingFound();
  return await chooseInstall(installs);
}

const nothingFound = (): ExcursorError =>
  new ExcursorError("ide_no_app", "No Cursor installation was found on this machine.", {
    hint: "If Cursor is in another folder, name it: --app PATH",
  });

const withoutBytes = ({ path, insertions }: { readonly path: string; readonly insertions: readonly object[] }) => ({
  path,
  insertions,
});

const printJson = (value: unknown): void => {
  process.stdout.write(`${jsonText(value, 2)}\n`);
};
