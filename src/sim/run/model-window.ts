import { findModel } from "../endpoints/find-model.ts";

/** What a model takes that the catalogue does not know: any id may be asked for. */
const USUAL_TOKENS = 200_000;

export function contextTokens(modelId: string, isMaxMode: boolean): number {
  const model = findModel(modelId);
  return (isMaxMode ? model?.maxModeContextTokens : model?.contextTokens) ?? USUAL_TOKENS;
}
