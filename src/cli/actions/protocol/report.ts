import { createWriteStream, rmSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { fileError } from "../../../files/file-error.ts";
import { gatherReport, type Report, type ReportOptions } from "../../report/gather-report.ts";
import { tarArchive } from "../../report/tar-archive.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { formatTable } from "../../terminal/format-table.ts";

interface ReportFlags extends ReportOptions {
  readonly out?: string | undefined;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Returns the exit code: 1 if the user did not want the file. */
export async function runReport({ out, yes, json, ...options }: ReportFlags): Promise<number> {
  const file = out ?? `excursor-report-${new Date().toISOString().slice(0, 19).replace(/[T:]/g, "-")}.tar.gz`;
  const report = await gatherReport(options);
  process.stderr.write(listing(report));
  if (!yes && !(await mayWrite(file))) {
    process.stderr.write("Nothing was written.\n");
    return 1;
  }
  await write(report, file);
  const names = report.parts.map(({ name }) => name);
  process.stdout.write(json ? `${jsonText({ file, parts: names, missing: report.missing })}\n` : `${file}\n`);
  return 0;
}

function listing({ parts, missing }: Report): string {
  const rows = parts.map((part) => [
    part.name,
    formatBytes("text" in part ? Buffer.byteLength(part.text) : part.bytes),
    part.about,
  ]);
  const lacks = missing.map((text) => `Not in it: ${printable(text)}\n`);
  return `${formatTable(["FILE", "SIZE", "WHAT IT IS"], rows)}${lacks.join("")}`;
}

async function mayWrite(file: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new ExcursorError("config", "There is no terminal to ask on, so nothing was written.", {
      hint: "Repeat the command with --yes.",
    });
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await lines.question(`Write this to ${file}? [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

async function write({ parts }: Report, file: string): Promise<void> {
  const target = createWriteStream(file, { flags: "wx", mode: 0o600 });
  let isOurs = false;
  target.once("open", () => {
    isOurs = true;
  });
  try {
    await pipeline(tarArchive(parts, Math.floor(Date.now() / 1000)), createGzip(), target);
  } catch (error) {
    if (isOurs) rmSync(file, { force: true });
    throw fileError(error, `write the report ${file}`, "file_unwritable");
  }
}
