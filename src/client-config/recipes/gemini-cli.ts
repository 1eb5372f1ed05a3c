import { join } from "node:path";
import type { ClientRecipe } from "../client-recipe.ts";
import { editEnv } from "../edit-env.ts";

export const geminiCli: ClientRecipe = {
  id: "gemini-cli",
  title: "Gemini CLI",
  dialect: "gemini",
  // Its settings.json has neither a base URL nor a key.
  file: ({ home, environment }) => join(environment["GEMINI_CLI_HOME"] || home, ".gemini", ".env"),
  edit: (text, { url, key, model }) =>
    editEnv(text, { GEMINI_API_KEY: key.reveal(), GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: model }),
  next: () => [
    "Start it as usual: gemini. It reads this file only in folders that you trust.",
    'At its first start, choose "Use Gemini API Key". Without a terminal, set security.auth.selectedType to "gemini-api-key" in ~/.gemini/settings.json first.',
    "Variables of the shell and a .env file of the project come before this file.",
  ],
};
