import { acp } from "../drivers/acp/index.ts";
import { anthropic } from "../drivers/anthropic/index.ts";
import { cursor } from "../drivers/cursor/index.ts";
import { createCursorLegacy } from "../drivers/cursor-legacy/index.ts";
import { openai } from "../drivers/openai/index.ts";

const cursorLegacy = createCursorLegacy(async (context) => {
  const { openLegacyModels } = await import("./models/legacy-models.ts");
  return openLegacyModels(context);
});

/** All drivers. The first of Cursor's is the default of the setting `driver`. */
export const DRIVERS = [cursor, cursorLegacy, anthropic, openai, acp] as const;
