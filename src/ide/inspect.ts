import { ExcursorError } from "../core/errors.ts";
import type { FileSystem } from "../files/file-system.ts";
import { type App, checkSums, type KnownFile } from "./app/app.ts";
import type { ChecksumScheme } from "./app/checksums.ts";
import { appFromBackups } from "./app-from-backups.ts";
import { PATCH_ID } from "./patch/edit.ts";
import { type ClassSite, locate } from "./patch/locate.ts";
import type { PatchRecord } from "./store/patch-record.ts";

export interface Target {
  readonly bundle: KnownFile;
  readonly site: ClassSite;
}

/**
 * The state of an app, decided by digests first and by marks second.
 *
 * - `pristine`: the original, of a known shape. `updated`: the same, but another build than the one we patched.
 * - `patched`: exactly what we wrote. `outdated`: exactly what an older Excursor wrote.
 * - `foreign`: changed by something else. `unknown`: not of a known shape.
 * - `replaceable`: changed by another patch, whose backups hold the original, of a known shape.
 */
export type Inspection =
  | {
      readonly state: "pristine" | "updated";
      readonly targets: readonly Target[];
      readonly scheme: ChecksumScheme | undefined;
    }
  | { readonly state: "patched" | "outdated"; readonly record: PatchRecord }
  | { readonly state: "foreign" | "unknown"; readonly reason: string }
  | { readonly state: "replaceable"; readonly reason: string; readonly original: App };

export function inspect(files: FileSystem, app: App, record: PatchRecord | undefined): Inspection {
  if (record && isWhatWeWrote(app, record)) {
    return { state: record.patchId === PATCH_ID ? "patched" : "outdated", record };
  }
  const found = readBundles(app.bundles);
  if (!Array.isArray(found)) {
    const original = found.state === "foreign" ? appFromBackups(files, app) : undefined;
    return original && Array.isArray(readBundles(original.bundles))
      ? { state: "replaceable", reason: found.reason, original }
      : found;
  }
  let scheme: ChecksumScheme | undefined;
  try {
    scheme = checkSums(files, app);
  } catch (error) {
    if (!(error instanceof ExcursorError) || error.code !== "ide_checksum_mismatch") throw error;
    return { state: "foreign", reason: error.message.replace(/\.$/, "") };
  }
  const isKnown = record === undefined || isWhatWeFound(app, record);
  return { state: isKnown ? "pristine" : "updated", targets: found, scheme };
}

function readBundles(
  bundles: readonly KnownFile[],
): Target[] | Extract<Inspection, { readonly state: "foreign" | "unknown" }> {
  const targets: Target[] = [];
  for (const bundle of bundles) {
    const finding = locate(bundle.bytes);
    switch (finding.type) {
      case "absent":
        break;
      case "found":
        targets.push({ bundle, site: finding.site });
        break;
      case "patched":
        return {
          state: "foreign",
          reason: `${bundle.path} has a patch of Excursor that differs from the recorded one`,
        };
      case "foreign":
        return {
          state: "foreign",
          reason: `${bundle.path} has the marks of another patch: ${finding.marks.join(", ")}`,
        };
      case "unknown":
        return { state: "unknown", reason: `${bundle.path}: ${finding.reason}` };
    }
  }
  if (targets.length > 0) return targets;
  return { state: "unknown", reason: "no bundle has the class that shows answers" };
}

const isWhatWeWrote = (app: App, record: PatchRecord): boolean => agrees(app, record, "after");
const isWhatWeFound = (app: App, record: PatchRecord): boolean => agrees(app, record, "before");

function agrees(app: App, record: PatchRecord, side: "before" | "after"): boolean {
  const all: readonly KnownFile[] = [...app.bundles, app.productFile];
  return record.files.every((file) => all.find(({ path }) => path === file.path)?.digest === file[side]);
}
