import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editEnv } from "../edit-env.ts";

/** The format is that of Open WebUI's documentation: it cannot be run here. */
export const openWebui: ClientRecipe = {
  id: "open-webui",
  title: "Open WebUI",
  dialect: "chat",
  // It has no usual place: the file is given to the container or the shell.
  file: ({ home }) => join(home, "open-webui.env"),
  edit: (text, { url, key, model }) =>
    editEnv(text, {
      ENABLE_OPENAI_API: "true",
      OPENAI_API_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key.reveal(),
      DEFAULT_MODELS: model,
    }),
  next: () => [
    "Start it with this file: docker run --env-file ~/open-webui.env …, or open-webui serve with these variables.",
    "In a container, 127.0.0.1 is the container itself: use --network host, or connect with --url and the setting `hosts`.",
    "Open WebUI reads the variables at its first start only, unless ENABLE_PERSISTENT_CONFIG=False is set.",
  ],
};
