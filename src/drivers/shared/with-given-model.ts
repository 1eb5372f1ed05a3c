import type { Driver, ModelInfo } from "../../core/driver.ts";
import { type ErrorKind, ExcursorError } from "../../core/errors.ts";

/** The same upstream, with the model that the settings name: it is there whether or not it is listed. */
export const withGivenModel = (driver: Driver, id: string): Driver => ({
  ...driver,
  listModels: async (principal, signal) => {
    const models = await driver.listModels(principal, signal).catch(noneIfUntold);
    return models.some((model) => model.id === id) ? models : [...models, untold(id)];
  },
});

/** What an answer to a question is that the upstream does not know. */
const UNTOLD: readonly ErrorKind[] = ["not-found", "model-not-found", "unsupported", "upstream-protocol"];

/** Not every server can tell what it has. One that is away, or refuses the key, is another matter. */
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
