import { findModel } from "../endpoints/models/find-model.ts";

/** The window of models that the list lacks; any id may be used. */
const USUAL_TOKENS = 200_000;

export function contextTokens(modelId: string, isMaxMode: boolean): number {
  const model = findModel(modelId);
  return (isMaxMode ? model?.maxModeContextTokens : model?.contextTokens) ?? USUAL_TOKENS;
}
