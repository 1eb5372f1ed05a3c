import type { Driver, ModelInfo } from "../../core/driver.ts";
import { type ErrorKind, ExcursorError } from "../../core/errors.ts";

/** Adds the model of the settings to the list, if the upstream does not list it. */
export const withGivenModel = (driver: Driver, id: string): Driver => ({
  ...driver,
  listModels: async (principal, signal) => {
    const models = await driver.listModels(principal, signal).catch(noneIfUntold);
    return models.some((model) => model.id === id) ? models : [...models, untold(id)];
  },
});

/** Errors of an upstream that cannot list its models. */
const UNTOLD: readonly ErrorKind[] = ["not-found", "model-not-found", "unsupported", "upstream-protocol"];

/** Returns no models if the upstream cannot list them. Other failures are thrown. */
function noneIfUntold(error: unknown): readonly ModelInfo[] {
  if (UNTOLD.includes(ExcursorError.from(error).kind)) return [];
  throw error;
}

const untold = (id: string): ModelInfo => ({
  id,
  displayName: id,
  aliases: [],
  contextTokens: 128_000,
  supportsImages: true,
  isThinking: false,
  efforts: [],
});
