import fs, { existsSync } from "node:fs";
import { ExcursorError } from "../../../core/errors.ts";
import { restoreApp } from "../../../ide/change-app.ts";
import type { PatchRecord } from "../../../ide/store/patch-record.ts";
import { Store } from "../../../ide/store/store.ts";
import { openIdeHost } from "../../ide/open-ide-host.ts";
import type { UndoStep } from "./undo-step.ts";

/**
 * Restores each patched Cursor. The originals are in the home folder, so this must be done before that is deleted. With
 * `force`, an app that cannot be restored stays as it is.
 */
export const undoIdePatches = (home: string, force: boolean): readonly UndoStep[] =>
  changedApps(new Store(fs, home))
    .filter(({ root }) => existsSync(root))
    .map(({ root, isResigned }) => ({
      type: "ide",
      name: root,
      text: `restore the Cursor IDE in ${root}`,
      async undo() {
        try {
          await restoreApp(openIdeHost(), root);
          if (isResigned)
            process.stderr.write(`${root} was signed again. Reinstall Cursor to get its own signature.\n`);
        } catch (error) {
          const { message, hint, kind } = ExcursorError.from(error);
          if (kind === "canceled") throw error;
          if (!force) {
            throw new ExcursorError("ide_not_restored", [root, message], {
              kind,
              hint: `${hint === undefined ? "" : `${hint} `}--force leaves the patch in it and deletes the originals.`,
              cause: error,
            });
          }
          process.stderr.write(`${root} stays patched: ${message} Reinstall Cursor to remove the patch.\n`);
        }
      },
    }));

/** Also the app of a change that was interrupted. */
function changedApps(store: Store): readonly Pick<PatchRecord, "root" | "isResigned">[] {
  const records = store.records();
  const root = store.journal()?.root;
  const isNew = root !== undefined && !records.some((record) => record.root === root);
  return isNew ? [...records, { root, isResigned: false }] : records;
}
