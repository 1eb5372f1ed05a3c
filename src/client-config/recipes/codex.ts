import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editToml } from "../edit-toml.ts";

export const codex: ClientRecipe = {
  id: "codex",
  title: "Codex",
  dialect: "responses",
  file: ({ home, environment }) => join(environment["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
  edit(text, { url, key, model, models }) {
    const window = models.find(({ id }) => id === model)?.window;
    return editToml(
      text,
      { model, model_provider: "excursor", ...(window !== undefined && { model_context_window: window }) },
      [
        "model_providers.excursor",
        {
          name: "Excursor",
          base_url: `${url}/v1`,
          wire_api: "responses",
          supports_websockets: true,
          experimental_bearer_token: key.reveal(),
        },
      ],
    );
  },
  next: () => ["Start it as usual: codex", "Codex warns that it does not know the model. You can ignore the warning."],
};
