import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editJson } from "../edit-json.ts";

export const qwenCode: ClientRecipe = {
  id: "qwen-code",
  title: "Qwen Code",
  dialect: "chat",
  file: ({ home }) => join(home, ".qwen", "settings.json"),
  edit: (text, { url, key, model }) =>
    editJson(text, [
      [["security", "auth", "selectedType"], "openai"],
      [["security", "auth", "apiKey"], key.reveal()],
      [["security", "auth", "baseUrl"], `${url}/v1`],
      [["model", "name"], model],
    ]),
  next: () => ["Start it as usual: qwen"],
};
