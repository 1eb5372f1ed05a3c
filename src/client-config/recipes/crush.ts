import { join } from "node:path";
import type { ClientRecipe, OfferedModel } from "../client-recipe.ts";
import { editJson } from "../edit-json.ts";

/**
 * The format is that of Crush's documentation. It is not tried with Crush: its npm package downloads the program from
 * GitHub when it is installed. Newer versions prefer a `crushrc`, and still read this file.
 */
export const crush: ClientRecipe = {
  id: "crush",
  title: "Crush",
  dialect: "chat",
  file: ({ home, environment }) => join(environment["XDG_CONFIG_HOME"] || join(home, ".config"), "crush", "crush.json"),
  edit: (text, { url, key, model, models }) =>
    editJson(text, [
      [["$schema"], "https://charm.land/crush.json"],
      [
        ["providers", "excursor"],
        {
          name: "Excursor",
          type: "openai-compat",
          base_url: `${url}/v1`,
          api_key: key.reveal(),
          models: models.map(describe),
        },
      ],
      [["models", "large"], { provider: "excursor", model }],
      [["models", "small"], { provider: "excursor", model }],
    ]),
  next: () => ["Start it as usual: crush"],
};

const describe = ({ id, name, window, isThinking, supportsImages }: OfferedModel) => ({
  id,
  name,
  context_window: window,
  default_max_tokens: 32_000,
  can_reason: isThinking,
  supports_attachments: supportsImages,
});
