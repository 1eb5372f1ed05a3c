import { join } from "node:path";
import type { ClientRecipe, OfferedModel } from "../client-recipe.ts";
import { editJson } from "../edit-json.ts";

const PROVIDER = "Excursor";

export const zed: ClientRecipe = {
  id: "zed",
  title: "Zed",
  dialect: "chat",
  file({ home, platform, environment }) {
    if (platform === "win32")
      return join(environment["APPDATA"] || join(home, "AppData", "Roaming"), "Zed", "settings.json");
    const folder = platform === "darwin" ? undefined : environment["XDG_CONFIG_HOME"];
    return join(folder || join(home, ".config"), "zed", "settings.json");
  },
  edit: (text, { url, model, models }) =>
    editJson(text, [
      [
        ["language_models", "openai_compatible", PROVIDER],
        { api_url: `${url}/v1`, available_models: models.map(describe) },
      ],
      [["agent", "default_model"], { provider: PROVIDER, model }],
    ]),
  next: () => [
    "Zed does not read the key from a file. Start Zed with the key in its environment:",
    '  EXCURSOR_API_KEY="$(excursor key)" zed',
    "or enter the key once in Zed's settings, under LLM Providers.",
  ],
};

const describe = ({ id, name, window, supportsImages }: OfferedModel) => ({
  name: id,
  display_name: name,
  max_tokens: window,
  capabilities: { tools: true, images: supportsImages, parallel_tool_calls: true, prompt_cache_key: false },
});
