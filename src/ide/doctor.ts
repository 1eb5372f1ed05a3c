import { constants } from "node:fs";
import { dirname } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { type App, checkSums, type KnownFile, readApp } from "./app/app.ts";
import { expectOwn, pathIn } from "./app/app-file.ts";
import { expectQuiet } from "./app/processes.ts";
import { appBundleOf, verifySignature } from "./app/signature.ts";
import { appFromBackups } from "./app-from-backups.ts";
import { explainFailure } from "./explain-failure.ts";
import type { IdeHost } from "./host.ts";
import { locate } from "./patch/locate.ts";
import { originalApp } from "./patch/patch.ts";
import { Store } from "./store/store.ts";

export interface Check {
  readonly id: string;
  readonly level: "ok" | "warn" | "fail";
  readonly text: string;
  readonly fix?: string;
}

/** Checks everything that decides whether a patch can be made, works and can be undone. Changes nothing (OPS-09). */
export async function examine(host: IdeHost, root: string): Promise<readonly Check[]> {
  const { files, home } = host;
  const store = new Store(files, home);
  let app: App;
  try {
    app = readApp(files, root);
  } catch (error) {
    return [failed("app", error, host, root)];
  }
  const { version, commit } = app.product;
  const original = appFromBackups(files, app);
  return [
    ok("app", `Cursor ${version}, build ${commit.slice(0, 10) || "unknown"}`),
    attempt("journal", host, root, () => {
      if (!store.journal()) return "nothing was interrupted";
      throw new ExcursorError("busy", "A patch or a restore was interrupted.", {
        hint: "Run it again: excursor ide patch, or excursor ide restore.",
      });
    }),
    attempt("checksums", host, root, () => {
      const scheme = checkSums(files, app);
      return scheme ? `all ${app.product.checksums.size} match (${scheme.algorithm})` : "the app has no checksums";
    }),
    ...app.bundles.map((bundle) => bundleCheck(bundle, original !== undefined)),
    attempt("backup", host, root, () => {
      const record = store.record(root);
      if (!record) return "none is needed";
      originalApp(store, app, record);
      return `complete, from ${record.patchedAt}`;
    }),
    attempt("rights", host, root, () => {
      for (const file of [...app.bundles, app.productFile]) {
        expectOwn(files, root, file);
        files.accessSync(dirname(pathIn(root, file.path)), constants.W_OK);
      }
      return "the files are writable";
    }),
    attempt("running", host, root, () => {
      expectQuiet(root, host.processes());
      return "Cursor is not running";
    }),
    ...siblingChecks(host, app),
    ...(host.machine.platform === "darwin" ? await macChecks(host, root) : []),
    ok("cache", "if a patch has no effect, quit Cursor and delete the folder CachedData in its user data"),
  ];
}

const REPLACE = "excursor ide patch replaces it";

function bundleCheck({ path, bytes }: KnownFile, isReplaceable: boolean): Check {
  const finding = locate(bytes);
  switch (finding.type) {
    case "found":
      return ok(path, `has the class; the end of a thought is reported by ${finding.site.dialect}`);
    case "absent":
      return { id: path, level: "warn", text: "does not have the class" };
    case "patched":
      return ok(path, `has patch ${finding.patchId}`);
    case "foreign":
      if (isReplaceable) return { id: path, level: "warn", text: "has another patch, whose backups fit", fix: REPLACE };
      return { id: path, level: "fail", text: `has the marks of another patch: ${finding.marks.join(", ")}` };
    case "unknown":
      return {
        id: path,
        level: "fail",
        text: finding.reason,
        ...(finding.excerpt !== undefined && { fix: `Report it with this text: ${finding.excerpt}` }),
      };
  }
}

/** Warns about backups of other patchers, which lie beside the files. */
function siblingChecks({ files }: IdeHost, { root, bundles }: App): readonly Check[] {
  const [first] = bundles;
  if (!first) return [];
  const left = files
    .readdirSync(dirname(pathIn(root, first.path)))
    .filter((name) => /\.(backup|bak|acp-backup|orig)$|\.excursor-/.test(name));
  if (left.length === 0) return [];
  const fix = "Delete them if you do not need them. They are not Excursor's, or a killed patch left them.";
  return [{ id: "leftovers", level: "warn", text: `unexpected files next to the bundles: ${left.join(", ")}`, fix }];
}

async function macChecks({ run }: IdeHost, root: string): Promise<readonly Check[]> {
  const signature = await verifySignature(run, root);
  const quarantine = await run("xattr", ["-p", "com.apple.quarantine", appBundleOf(root)]);
  return [
    signature.code === 0
      ? ok("signature", "holds")
      : {
          id: "signature",
          level: "warn",
          text: "is not valid, as after every patch; Cursor still starts unless it is in quarantine",
          fix: "`excursor ide restore` repairs it. --resign=adhoc does so too, with drawbacks: see docs/ide.md.",
        },
    quarantine.code !== 0
      ? ok("quarantine", "none")
      : {
          id: "quarantine",
          level: "warn",
          text: "the app is in quarantine, so macOS may report a patched app as damaged",
          fix: "Start Cursor once before you patch it.",
        },
  ];
}

const ok = (id: string, text: string): Check => ({ id, level: "ok", text });

function attempt(id: string, host: IdeHost, root: string, work: () => string): Check {
  try {
    return ok(id, work());
  } catch (error) {
    return failed(id, error, host, root);
  }
}

function failed(id: string, thrown: unknown, { machine }: IdeHost, root: string): Check {
  const attempted = explainFailure(thrown, { platform: machine.platform, verb: "patch", root });
  const { message, hint, kind } = ExcursorError.from(attempted);
  return { id, level: kind === "busy" ? "warn" : "fail", text: message, ...(hint !== undefined && { fix: hint }) };
}
