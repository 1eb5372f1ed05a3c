import { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import { type Asker, type Callers, invalidToken } from "./callers.ts";
import { OWN_PREFIX } from "./find-model.ts";

/** Who answers a run. */
export type Verdict =
  | { readonly type: "relay" }
  | { readonly type: "own"; readonly model: string; readonly principal: Principal }
  | { readonly type: "refused"; readonly error: ExcursorError };

export interface DecideOptions {
  readonly callers: Callers;
  /** Whether a name, without the prefix, is that of a model of ours. */
  readonly isOwnModel: (model: string) => boolean;
}

/** Decides by the model's name and the caller. */
export async function decideRun(
  asker: Asker,
  model: string | undefined,
  { callers, isOwnModel }: DecideOptions,
): Promise<Verdict> {
  const caller = callers.identify(asker);
  if (caller.type === "refused") return refused(invalidToken());
  if (!model?.startsWith(OWN_PREFIX)) {
    return caller.type === "key" ? refused(needsAccount(`The model ${JSON.stringify(model ?? "default")}`)) : RELAY;
  }
  const name = model.slice(OWN_PREFIX.length);
  try {
    const principal = await callers.principalOf(asker);
    if (!principal) return refused(notAllowed(model));
    return isOwnModel(name) ? { type: "own", model: name, principal } : refused(unknownModel(model));
  } catch (error) {
    return refused(ExcursorError.from(error));
  }
}

export const RELAY: Verdict = { type: "relay" };

const refused = (error: ExcursorError): Verdict => ({ type: "refused", error });

/** For holders of a gateway key, who have no login of Cursor's. */
export const needsAccount = (what: string): ExcursorError => new ExcursorError("account_required", [what, OWN_PREFIX]);

const notAllowed = (model: string): ExcursorError =>
  new ExcursorError("account_not_signed_in", [JSON.stringify(model)]);

const unknownModel = (model: string): ExcursorError =>
  new ExcursorError("model-not-found", `There is no model ${JSON.stringify(model)} here.`, {
    hint: "`excursor models` lists them; the setting `models` names those of other upstreams.",
  });
