import { readApp } from "./app/app.ts";
import { explainFailure } from "./explain-failure.ts";
import type { IdeHost } from "./host.ts";
import { type Inspection, inspect } from "./inspect.ts";
import { Store } from "./store/store.ts";

export interface AppStatus {
  readonly root: string;
  readonly version: string;
  readonly commit: string;
  readonly state: Inspection["state"] | "interrupted";
  /** One sentence, with what to do if anything. */
  readonly explanation: string;
  readonly patchedAt?: string;
}

const EXPLANATIONS: Readonly<Record<Exclude<AppStatus["state"], "foreign" | "unknown" | "replaceable">, string>> = {
  pristine: "Not patched. Run: excursor ide patch",
  patched: "Patched. To undo: excursor ide restore",
  outdated: "Patched by another version of Excursor. To update the patch: excursor ide patch",
  updated: "Cursor was updated after it was patched, and the update removed the patch. Run: excursor ide patch",
  interrupted: "A patch or a restore was interrupted. Run excursor ide patch or excursor ide restore to finish it.",
};

/** Changes nothing. */
export function statusOf(host: IdeHost, root: string): AppStatus {
  try {
    return readStatus(host, root);
  } catch (error) {
    throw explainFailure(error, { platform: host.machine.platform, verb: "patch", root });
  }
}

function readStatus({ files, home }: IdeHost, root: string): AppStatus {
  const store = new Store(files, home);
  const app = readApp(files, root);
  const { version, commit } = app.product;
  const record = store.record(root);
  const known = { root, version, commit };
  if (store.journal()?.root === root) {
    return { ...known, state: "interrupted", explanation: EXPLANATIONS.interrupted };
  }
  const inspection = inspect(files, app, record);
  if ("reason" in inspection) {
    const { state, reason } = inspection;
    if (state === "replaceable")
      return {
        ...known,
        state,
        explanation: `Patched by another tool (${reason}). To replace that: excursor ide patch`,
      };
    const what = state === "foreign" ? "Changed by another program" : "Unknown version";
    return { ...known, state, explanation: `${what}: ${reason}.` };
  }
  const { state } = inspection;
  const explanation = EXPLANATIONS[state];
  return { ...known, state, explanation, ...("record" in inspection && { patchedAt: inspection.record.patchedAt }) };
}
