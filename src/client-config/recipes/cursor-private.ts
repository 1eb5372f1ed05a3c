import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editEnv } from "../edit-env.ts";

/** The build of Cursor that asks a gateway only, and its command line. Neither has a documented configuration file. */
export const cursorPrivate: ClientRecipe = {
  id: "cursor-private",
  title: "Cursor Private Inference",
  dialect: "responses",
  file: ({ home }) => join(home, "cursor-private.env"),
  edit: (text, { url, key }) =>
    editEnv(text, { CURSOR_LOCAL_AGENT_BASE_URL: `${url}/v1`, CURSOR_LOCAL_AGENT_API_KEY: key.reveal() }),
  next: ({ url }) => [
    "Command line: set -a; . ~/cursor-private.env; set +a; cursor-agent-local",
    "Desktop build: start it from the same shell, with --user-data-dir and a folder of its own, because it shares that of the normal app.",
    `Or enter ${url}/v1 and the output of \`excursor key\` under Settings → Models → Gateway. What is saved there comes before the variables.`,
  ],
};
