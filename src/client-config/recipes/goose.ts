import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editYaml } from "../edit-yaml.ts";

/** Goose uses the Responses API for some names of models, whatever the base path says. */
export const goose: ClientRecipe = {
  id: "goose",
  title: "Goose",
  dialect: "chat",
  file({ home, platform, environment }) {
    if (platform !== "win32")
      return join(environment["XDG_CONFIG_HOME"] || join(home, ".config"), "goose", "config.yaml");
    const folder = environment["APPDATA"] || join(home, "AppData", "Roaming");
    return join(folder, "Block", "goose", "config", "config.yaml");
  },
  edit: (text, { url, model }) =>
    editYaml(text, (document) => {
      document.set("GOOSE_PROVIDER", "openai");
      document.set("GOOSE_MODEL", model);
      document.set("OPENAI_HOST", url);
      document.set("OPENAI_BASE_PATH", "v1/chat/completions");
    }),
  next: () => [
    "Goose does not read the key from this file. Start it with the key in its environment:",
    '  OPENAI_API_KEY="$(excursor key)" goose',
  ],
};
