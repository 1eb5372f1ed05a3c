import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editYaml } from "../edit-yaml.ts";

export const aider: ClientRecipe = {
  id: "aider",
  title: "Aider",
  dialect: "chat",
  file: ({ home }) => join(home, ".aider.conf.yml"),
  edit: (text, { url, key, model }) =>
    editYaml(text, (document) => {
      // Aider selects its API client by this prefix.
      document.set("model", `openai/${model}`);
      document.set("weak-model", `openai/${model}`);
      document.set("openai-api-base", `${url}/v1`);
      document.set("openai-api-key", key.reveal());
      document.set("show-model-warnings", false);
    }),
  next: () => ["Start it as usual: aider"],
};
