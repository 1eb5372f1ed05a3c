import { constants } from "node:fs";
import { dirname, join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { createProcessLock } from "../files/process-lock.ts";
import { type App, readApp } from "./app/app.ts";
import { pathIn } from "./app/app-file.ts";
import { expectQuiet } from "./app/processes.ts";
import { expectSigning, resign } from "./app/signature.ts";
import { explainFailure } from "./explain-failure.ts";
import type { IdeHost } from "./host.ts";
import { inspect } from "./inspect.ts";
import { checkSyntax } from "./patch/check-syntax.ts";
import { originalApp, type PatchPlan, planPatch } from "./patch/patch.ts";
import { recover } from "./store/recover.ts";
import { Store } from "./store/store.ts";
import { type Replacement, replaceBy, runTransaction } from "./store/transaction.ts";

export type PatchOutcome =
  | { readonly type: "patched"; readonly plan: PatchPlan }
  /** The files already are what this patch would write. */
  | { readonly type: "already"; readonly patchId: string };

export type RestoreOutcome =
  | { readonly type: "restored"; readonly paths: readonly string[]; readonly isResigned: boolean }
  | { readonly type: "nothing"; readonly why: "pristine" | "updated" };

/** Patches an app, or replaces an older patch of ours. */
export async function patchApp(
  host: IdeHost,
  root: string,
  options: { readonly resign: boolean },
): Promise<PatchOutcome> {
  if (options.resign) expectSigning(host);
  return await changing(host, root, "patch", async (store) => {
    const { files, onStep } = host;
    const app = read(host, root);
    onStep("finding the class that shows answers");
    const plan = planPatch(files, store, app, host.now());
    if (!plan) return { type: "already", patchId: store.record(root)?.patchId ?? "" };
    expectRights(host, root, plan.replacements);
    onStep("backing up the files");
    for (const original of plan.originals) store.keep(plan.record.backupSet, original);
    onStep("writing the new files");
    await runTransaction(files, store, {
      kind: "patch",
      root,
      backupSet: plan.record.backupSet,
      replacements: plan.replacements,
      record: plan.record,
      verify: async (paths) => {
        onStep("checking the syntax in a separate process");
        for (const path of paths.filter((name) => name.endsWith(".mjs"))) await checkSyntax(host, path);
      },
    });
    if (options.resign) {
      onStep("signing the app again");
      store.writeRecord({ ...plan.record, isResigned: true });
      await resign(host, root);
    }
    return { type: "patched", plan };
  });
}

/** Returns what {@link patchApp} would do. Writes nothing. */
export function previewPatch(host: IdeHost, root: string): PatchPlan | undefined {
  const store = new Store(host.files, host.home);
  try {
    expectWhole(store);
    return planPatch(host.files, store, readApp(host.files, root), host.now());
  } catch (error) {
    throw explainFailure(error, { platform: host.machine.platform, verb: "patch", root });
  }
}

/** Returns the files that {@link restoreApp} would put back; none if there is nothing to restore. Writes nothing. */
export function previewRestore(host: IdeHost, root: string): readonly string[] {
  const store = new Store(host.files, host.home);
  try {
    expectWhole(store);
    const app = readApp(host.files, root);
    const inspection = inspect(host.files, app, store.record(root));
    if ("reason" in inspection) throw notOurs(inspection.reason);
    if ("targets" in inspection) return [];
    const replacements = replacementsFor(app, originalApp(store, app, inspection.record));
    return replacements.map(({ current }) => current.path);
  } catch (error) {
    throw explainFailure(error, { platform: host.machine.platform, verb: "restore", root });
  }
}

/** Restores the original files, byte for byte. Does so only if the current files are exactly what we wrote (SEC-64). */
export function restoreApp(host: IdeHost, root: string): Promise<RestoreOutcome> {
  return changing(host, root, "restore", async (store) => {
    const { files, onStep } = host;
    const app = read(host, root);
    const inspection = inspect(files, app, store.record(root));
    if ("reason" in inspection) throw notOurs(inspection.reason);
    if ("targets" in inspection) {
      store.removeRecord(root);
      return { type: "nothing", why: inspection.state };
    }
    onStep("checking the backup");
    const { record } = inspection;
    const replacements = replacementsFor(app, originalApp(store, app, record));
    expectRights(host, root, replacements);
    onStep("restoring the original files");
    const { backupSet } = record;
    await runTransaction(files, store, { kind: "restore", root, backupSet, replacements, record: null });
    return {
      type: "restored",
      paths: replacements.map(({ current }) => current.path),
      isResigned: record.isResigned,
    };
  });
}

function replacementsFor(app: App, original: App): readonly Replacement[] {
  const pairs = [...app.bundles, app.productFile].map((file, index) => {
    const old = [...original.bundles, original.productFile][index] ?? file;
    return replaceBy(file, file.digest, () => [old.bytes]);
  });
  return pairs.filter(({ before, after }) => before !== after);
}

async function changing<T>(
  host: IdeHost,
  root: string,
  verb: "patch" | "restore",
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { files, home, machine, onStep } = host;
  const store = new Store(files, home);
  try {
    expectQuiet(root, host.processes());
    store.open();
    return await createProcessLock(join(home, "ide.lock"), { patienceMs: 0 }).run(async () => {
      const journal = store.journal();
      if (journal) {
        onStep("finishing what was interrupted");
        recover(files, store, journal, "after");
      }
      const outcome = await work(store);
      tidy(store);
      return outcome;
    });
  } catch (error) {
    throw explainFailure(error, { platform: machine.platform, verb, root });
  }
}

function tidy(store: Store): void {
  try {
    store.tidy();
  } catch {
    // The change itself is done. Leftovers are removed the next time.
  }
}

function read({ files, onStep }: IdeHost, root: string): App {
  onStep("reading the app");
  return readApp(files, root);
}

/**
 * Throws if the folders are not writable, before anything is written. Asking the system also covers access lists and
 * read-only mounts.
 */
function expectRights({ files }: IdeHost, root: string, replacements: readonly Replacement[]): void {
  for (const { current } of replacements) files.accessSync(dirname(pathIn(root, current.path)), constants.W_OK);
}

function expectWhole(store: Store): void {
  if (!store.journal()) return;
  throw new ExcursorError("ide_interrupted");
}

const notOurs = (reason: string): ExcursorError => new ExcursorError("ide_not_ours", [reason]);
