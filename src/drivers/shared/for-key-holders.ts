import type { Driver, Run } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";

/**
 * The same upstream, for whoever has a key of the gateway and nobody else. A caller with a Cursor token of their own pays
 * with that account; here it would be the gateway's owner who pays, for anything that looks like a token.
 */
export const forKeyHolders = (driver: Driver): Driver => ({
  ...driver,
  open: (turn, context) => (turn.principal.token ? refusedRun(turn.model.id) : driver.open(turn, context)),
  listModels: async (principal, signal) => (principal.token ? [] : driver.listModels(principal, signal)),
});

const refusedRun = (model: string): Run => ({
  // biome-ignore lint/correctness/useYield: it fails before there is anything to say
  async *[Symbol.asyncIterator]() {
    throw new ExcursorError("forbidden", `The model ${JSON.stringify(model)} needs a key of this gateway.`, {
      code: "gateway_key_required",
      hint: "Send the key of `excursor key` instead of a Cursor token.",
    });
  },
  submitResults: () => false,
  cancel: () => {},
});
