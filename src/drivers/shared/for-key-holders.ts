import type { Driver } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import { failedRun } from "./failed-run.ts";

/**
 * Restricts an upstream to callers with a key of the gateway. A caller with a Cursor token pays with that account; here
 * the gateway's owner would pay, for anything that looks like a token.
 */
export const forKeyHolders = (driver: Driver): Driver => ({
  ...driver,
  ...passingOn(driver),
  open: (turn, context) => (turn.principal.token ? failedRun(needsKey(turn.model.id)) : driver.open(turn, context)),
  listModels: async (principal, signal) => (principal.token ? [] : driver.listModels(principal, signal)),
});

function passingOn({ passOn }: Driver): Pick<Driver, "passOn"> {
  if (!passOn) return {};
  return {
    passOn: async (request, signal) => {
      if (request.principal.token) throw needsKey(request.model);
      return passOn(request, signal);
    },
  };
}

const needsKey = (model: string): ExcursorError => new ExcursorError("gateway_key_required", [JSON.stringify(model)]);
