import { join } from "node:path";
import { isMap, isSeq, type YAMLMap, type YAMLSeq } from "yaml";
import type { ClientRecipe } from "../client-recipe.ts";
import { editYaml } from "../edit-yaml.ts";
import { unreadable } from "../unreadable.ts";

const NAME = "Excursor";

export const continueDev: ClientRecipe = {
  id: "continue",
  title: "Continue",
  dialect: "chat",
  file: ({ home, environment }) => join(environment["CONTINUE_GLOBAL_DIR"] || join(home, ".continue"), "config.yaml"),
  edit: (text, { url, key, model, models }) =>
    editYaml(text, (document) => {
      const sees = models.find(({ id }) => id === model)?.supportsImages ?? true;
      for (const [field, value] of [
        ["name", "Local config"],
        ["version", "1.0.0"],
        ["schema", "v1"],
      ] as const) {
        if (!document.has(field)) document.set(field, value);
      }
      if (!document.get("models")) document.set("models", document.createNode([]));
      const list = document.get("models");
      if (!isSeq(list)) throw unreadable("`models` is not a list");
      const entries = (list as YAMLSeq<YAMLMap>).items;
      const others = entries.filter((entry) => !(isMap(entry) && entry.get("name") === NAME));
      const entry = document.createNode({
        name: NAME,
        provider: "openai",
        model,
        apiBase: `${url}/v1`,
        apiKey: key.reveal(),
        roles: ["chat", "edit", "apply"],
        capabilities: sees ? ["tool_use", "image_input"] : ["tool_use"],
      });
      // Continue starts with the first model.
      list.items = [entry as YAMLMap, ...others];
      list.flow = false;
    }),
  next: () => ["Choose the model Excursor in Continue. The command line of Continue selects it by default."],
};
