import { ExcursorError } from "../../core/errors.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { App, KnownFile } from "../app/app.ts";
import { expectOwn } from "../app/app-file.ts";
import type { ChecksumScheme } from "../app/checksums.ts";
import { hashOf } from "../app/digest.ts";
import { readProduct, replaceChecksums } from "../app/product.ts";
import { inspect, type Target } from "../inspect.ts";
import type { PatchRecord } from "../store/patch-record.ts";
import { backupSetOf, type Store } from "../store/store.ts";
import { type Replacement, replaceBy } from "../store/transaction.ts";
import { applyInsertions, type Insertion, PATCH_ID, planEdit } from "./edit.ts";

/** A patch, computed completely but not yet applied. */
export interface PatchPlan {
  readonly root: string;
  readonly edits: readonly {
    readonly path: string;
    readonly original: Buffer;
    readonly insertions: readonly Insertion[];
  }[];
  readonly checksums: readonly { readonly key: string; readonly before: string; readonly after: string }[];
  readonly replacements: readonly Replacement[];
  /** The original files, to be backed up. */
  readonly originals: readonly KnownFile[];
  readonly record: PatchRecord;
}

/** Returns undefined if the app is patched already. Throws if it must not be patched. */
export function planPatch(files: FileSystem, store: Store, app: App, now: Date): PatchPlan | undefined {
  for (const file of [...app.bundles, app.productFile]) expectOwn(files, app.root, file);
  const inspection = inspect(files, app, store.record(app.root));
  switch (inspection.state) {
    case "patched":
      return undefined;
    case "outdated":
      return planAgain(files, app, originalApp(store, app, inspection.record), now);
    case "replaceable":
      return planAgain(files, app, inspection.original, now);
    case "foreign":
    case "unknown":
      throw new ExcursorError(inspection.state === "foreign" ? "ide_foreign" : "ide_unknown", [inspection.reason]);
    case "pristine":
    case "updated":
      return plan(app, inspection.targets, inspection.scheme, now);
  }
}

/** Replaces an older patch of ours, or one of another tool: builds the new one from the originals, in one step. */
function planAgain(files: FileSystem, app: App, original: App, now: Date): PatchPlan {
  const inspection = inspect(files, original, undefined);
  if (inspection.state !== "pristine")
    throw new ExcursorError("ide_unknown", ["the backup is from an unknown version of Cursor"]);
  const fresh = plan(original, inspection.targets, inspection.scheme, now);
  const current = [...app.bundles, app.productFile];
  return {
    ...fresh,
    replacements: fresh.replacements.map((replacement) => {
      const file = current.find(({ path }) => path === replacement.current.path);
      return file ? { ...replacement, current: file, before: file.digest } : replacement;
    }),
  };
}

/** Returns the app with the backed up originals in place of the files that we wrote. */
export function originalApp(store: Store, app: App, record: PatchRecord): App {
  const original = (file: KnownFile): KnownFile => {
    const written = record.files.find(({ path }) => path === file.path);
    if (!written) return file;
    const bytes = store.kept(record.backupSet, written.before);
    if (!bytes) {
      throw new ExcursorError("ide_bad_backup", [file.path]);
    }
    return { ...file, bytes, digest: written.before };
  };
  const productFile = original(app.productFile);
  return { ...app, productFile, product: readProduct(productFile.bytes), bundles: app.bundles.map(original) };
}

function plan(app: App, targets: readonly Target[], scheme: ChecksumScheme | undefined, now: Date): PatchPlan {
  const { root, product, productFile } = app;
  const edits = targets.map(({ bundle, site }) => {
    const insertions = planEdit(bundle.bytes, site);
    return { bundle, insertions, content: () => applyInsertions(bundle.bytes, insertions) };
  });
  const bundles = edits.map(({ bundle, content }) => replaceBy(bundle, bundle.digest, content));
  const checksums = edits.flatMap(({ bundle, content }, index) => {
    const key = bundle.path.slice("out/".length);
    const before = product.checksums.get(key);
    if (before === undefined || !scheme) return [];
    const known = scheme.algorithm === "sha256" ? Buffer.from(bundles[index]?.after ?? "", "hex") : undefined;
    return [{ key, before, after: scheme.spell(known ?? hashOf(scheme.algorithm, content())) }];
  });
  const text = replaceChecksums(product, new Map(checksums.map(({ key, after }) => [key, after])));
  const all = [...bundles, replaceBy(productFile, productFile.digest, () => [Buffer.from(text)])];
  return {
    root,
    edits: edits.map(({ bundle, insertions }) => ({ path: bundle.path, original: bundle.bytes, insertions })),
    checksums,
    // Without checksums product.json stays as it is, but the record covers it.
    replacements: all.filter(({ before, after }) => before !== after),
    originals: [...targets.map(({ bundle }) => bundle), productFile],
    record: {
      format: 1,
      root,
      version: product.version,
      commit: product.commit,
      patchId: PATCH_ID,
      patchedAt: now.toISOString(),
      backupSet: backupSetOf(product.version, product.commit),
      isResigned: false,
      files: all.map(({ current, before, after }) => ({ path: current.path, before, after })),
    },
  };
}
