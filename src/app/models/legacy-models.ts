import { openCursorModels } from "../../drivers/cursor/models/open-cursor-models.ts";
import { fitContext } from "../../drivers/cursor/request/context-window.ts";
import type { LegacyModels } from "../../drivers/cursor-legacy/driver.ts";
import { withCredential } from "../../drivers/shared/account-credential.ts";
import type { CursorSettings } from "../../drivers/shared/cursor-settings.ts";
import type { DriverContext } from "../../drivers/shared/driver-module.ts";

/** The models of the driver `cursor`, as `cursor-legacy` uses it. */
export function openLegacyModels(context: DriverContext<CursorSettings>): LegacyModels {
  const { access, settings } = context;
  const models = openCursorModels(context);
  return {
    list: (principal, signal) => withCredential(principal, access, (credential) => models.list(credential, signal)),
    find: (name, principal) => withCredential(principal, access, (credential) => models.find(name, credential)),
    prepare: async (turn) => {
      const model = await withCredential(turn.principal, access, (credential) =>
        models.resolve(turn.model, credential),
      );
      const encoding = model.encodings.find((one) => one?.kind === "variant") ?? model.encodings[0];
      const { modelId: id, maxMode } = encoding;
      const { turn: fitting, trimmedMessages } = fitContext(turn, model, settings.context);
      const named = { ...fitting, model: { ...turn.model, id } };
      return { turn: named, trimmedMessages, maxMode, ignoresEffort: model.ignoresEffort, effort: model.effort };
    },
  };
}
