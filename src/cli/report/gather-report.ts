import { release } from "node:os";
import { openAccounts } from "../../app/accounts/open-accounts.ts";
import { lastCapture } from "../../app/capture/open-capture.ts";
import { type LoadedConfig, loadConfig } from "../../app/load-config.ts";
import { ownFolders, secretsOf } from "../../app/secrets-of.ts";
import { usagePath } from "../../app/usage/open-usage.ts";
import { Masker } from "../../capture/mask/masker.ts";
import { MaskedCapture } from "../../capture/masked-capture.ts";
import { explainConfig } from "../../config/explain-config.ts";
import { ExcursorError } from "../../core/errors.ts";
import { askSource } from "../../credentials/find-login.ts";
import { readSmallFile } from "../../files/read-small-file.ts";
import { requestRows } from "../../usage/queries/request-rows.ts";
import { openUsageForReading } from "../../usage/store/usage-database.ts";
import { examine } from "../doctor/examine.ts";
import { version } from "../version.ts";
import { gatewayLog } from "./gateway-log.ts";
import type { ArchiveEntry } from "./tar-archive.ts";

export interface ReportOptions {
  /** Its rows of the usage record go into the report, instead of the last capture. */
  readonly request?: string | undefined;
  /** Instead of the newest one in the home folder. False: none. */
  readonly capture: string | boolean;
  /** False: of prompts and texts in the capture only the length is kept. */
  readonly content: boolean;
  /** A file with log lines, instead of those of the running gateway. */
  readonly log?: string | undefined;
}

/** A part of a report, with a sentence about what is in it. */
type ReportPart = ArchiveEntry & { readonly about: string };

export interface Report {
  readonly parts: readonly ReportPart[];
  /** What is not in it, and why. */
  readonly missing: readonly string[];
}

const MAX_LOG_BYTES = 4 * 1024 * 1024;
const MAX_LOG_LINES = 1000;

/** Gathers the parts of a bug report. Tokens, keys, e-mail addresses and the home folder are masked as in a capture. */
export async function gatherReport(options: ReportOptions): Promise<Report> {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  const masker = await maskerFor(loaded);
  const json = (value: unknown) => masker.text(`${JSON.stringify(value, null, 2)}\n`);
  const missing: string[] = [];
  const parts: ReportPart[] = [
    { name: "versions.json", text: json(versionsOf(loaded)), about: "versions of Excursor, Node and the system" },
    {
      name: "config.json",
      text: json(explainConfig(loaded).map(({ key, value, origin }) => ({ key, value, origin }))),
      about: "every setting; secrets are left out",
    },
    {
      name: "doctor.json",
      text: json(await examine({ settings: {}, demo: false, quick: true })),
      about: "findings of `excursor doctor --quick`",
    },
  ];
  const lines = await logLines(options.log).catch((error: unknown) => {
    missing.push(`log lines: ${ExcursorError.from(error).message}`);
    return [];
  });
  const wanted = options.request === undefined ? lines : lines.filter((line) => line.includes(options.request ?? ""));
  if (wanted.length > 0) {
    const text = masker.text(`${wanted.join("\n")}\n`);
    parts.push({ name: "log.jsonl", text, about: `${wanted.length} log lines` });
  }
  if (options.request === undefined || typeof options.capture === "string") {
    parts.push(...(await captureParts(options, loaded.home, masker, missing)));
  }
  if (options.request !== undefined) {
    const text = json(await usageOf(options.request, loaded.home));
    parts.push({ name: "usage.json", text, about: `what the usage record has of the request ${options.request}` });
  }
  return { parts, missing };
}

/** Knows every secret that this machine has for the gateway. */
async function maskerFor(loaded: LoadedConfig): Promise<Masker> {
  const masker = new Masker([...secretsOf(loaded), ...ownFolders(loaded.home)]);
  const onSecret = (secret: { reveal(): string }) => masker.add(secret.reveal());
  const accounts = openAccounts(loaded, { onSecret, onNotice: () => {} });
  try {
    for (const source of accounts.sources) {
      const report = await askSource(source, Date.now());
      const { access, refresh, apiKey } = report.type === "found" ? report.found.login : {};
      for (const secret of [access, refresh, apiKey]) if (secret) onSecret(secret);
    }
  } finally {
    accounts.close();
  }
  return masker;
}

const versionsOf = ({ values }: LoadedConfig) => ({
  excursor: version(),
  node: process.versions.node,
  openssl: process.versions.openssl,
  platform: process.platform,
  architecture: process.arch,
  release: release(),
  clientVersion: values.clientVersion ?? "default",
});

async function logLines(file: string | undefined): Promise<readonly string[]> {
  if (file === undefined) return gatewayLog();
  const text = readSmallFile(file, MAX_LOG_BYTES);
  if (text === undefined) throw new ExcursorError("not-found", `${file} does not exist.`);
  return text.trimEnd().split("\n").slice(-MAX_LOG_LINES);
}

async function captureParts(
  { capture: wanted, content: hasContent }: ReportOptions,
  home: string,
  masker: Masker,
  missing: string[],
): Promise<readonly ReportPart[]> {
  const file = wanted === true ? lastCapture(home) : wanted === false ? undefined : wanted;
  if (file === undefined) {
    if (wanted === true) missing.push("a capture: there is none. Record one with `excursor capture -- COMMAND`");
    return [];
  }
  const capture = new MaskedCapture(file, masker, { hasContent });
  // A gateway may write it still: what comes later is not in the report. Throws if the file is no capture.
  const { offset } = await capture.scan(() => {}, { wantsMessage: () => false });
  await capture.learn(undefined, { end: offset });
  const content = () => capture.bytes(offset);
  let bytes = 0;
  for await (const part of content()) bytes += part.length;
  const what = hasContent ? "prompts, answers and files that a client sent" : "calls, without what was said";
  return [{ name: "last.capture", content, bytes, about: `${file}: ${what}. Secrets are masked` }];
}

async function usageOf(request: string, home: string): Promise<object> {
  const connection = await openUsageForReading(usagePath(home));
  try {
    const rows = connection && requestRows(connection, request);
    if (rows && rows.requests.length > 0) return rows;
  } finally {
    connection?.close();
  }
  throw new ExcursorError("not-found", `The usage record has no request ${request}.`, {
    hint: "The id of a request is in its response header x-request-id, and in the dashboard.",
  });
}
