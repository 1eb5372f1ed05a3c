import { join } from "node:path";
import type { JsonObject } from "../../core/turn.ts";
import type { ClientRecipe, OfferedModel } from "../client-recipe.ts";
import { editJson } from "../edit-json.ts";

export const opencode: ClientRecipe = {
  id: "opencode",
  title: "OpenCode",
  dialect: "chat",
  file({ home, environment, exists }) {
    const folder = join(environment["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode");
    const withComments = join(folder, "opencode.jsonc");
    return exists(withComments) ? withComments : join(folder, "opencode.json");
  },
  edit: (text, { url, key, model, models }) =>
    editJson(text, [
      // OpenCode would add this by itself.
      [["$schema"], "https://opencode.ai/config.json"],
      [
        ["provider", "excursor"],
        {
          npm: "@ai-sdk/openai-compatible",
          name: "Excursor",
          options: { baseURL: `${url}/v1`, apiKey: key.reveal() },
          models: Object.fromEntries(withChosen(models, model).map((offered) => [offered.id, describe(offered)])),
        },
      ],
      [["model"], `excursor/${model}`],
      [["small_model"], `excursor/${model}`],
    ]),
  next: () => ["Start it as usual: opencode", "/models lists all models, under Excursor."],
};

/** Adds the chosen model if it is not listed, such as a name with suffixes. */
const withChosen = (models: readonly OfferedModel[], id: string): readonly OfferedModel[] =>
  models.some((model) => model.id === id)
    ? models
    : [{ id, name: id, aliases: [], window: 200_000, isThinking: true, supportsImages: true }, ...models];

const describe = ({ name, window, isThinking, supportsImages }: OfferedModel): JsonObject => ({
  name,
  tool_call: true,
  reasoning: isThinking,
  attachment: supportsImages,
  modalities: { input: supportsImages ? ["text", "image"] : ["text"], output: ["text"] },
  limit: { context: window, output: 32_000 },
});
