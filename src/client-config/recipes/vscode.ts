import { join } from "node:path";
import type { ClientRecipe, OfferedGateway, OfferedModel } from "../client-recipe.ts";
import { editJsonList } from "../edit-json.ts";

const NAME = "Excursor";

/**
 * The format is that of VS Code's documentation: it cannot be run here. The key is not part of it: VS Code keeps keys in
 * its secret storage, and writes only a reference into the file when the user enters the key.
 */
export const vscode: ClientRecipe = {
  id: "vscode",
  title: "VS Code",
  dialect: "chat",
  file({ home, platform, environment }) {
    const folder =
      platform === "win32"
        ? environment["APPDATA"] || join(home, "AppData", "Roaming")
        : platform === "darwin"
          ? join(home, "Library", "Application Support")
          : environment["XDG_CONFIG_HOME"] || join(home, ".config");
    return join(folder, "Code", "User", "chatLanguageModels.json");
  },
  edit: (text, gateway) =>
    editJsonList(text, (entry) => entry["name"] === NAME && entry["vendor"] === "customendpoint", {
      name: NAME,
      vendor: "customendpoint",
      models: gateway.models.map((model) => describe(model, gateway)),
    }),
  next: () => [
    'Enter the key once: run `Chat: Manage Language Models`, choose "Update API Key" in the context menu of Excursor, and paste the output of `excursor key`. VS Code keeps it in its secret storage.',
    "Choose a model of Excursor in the chat's model picker. If it has none, run `Developer: Reload Window`.",
    "VS Code 1.122 or newer is needed.",
  ],
};

const MAX_OUTPUT = 32_000;

const describe = ({ id, name, window, isThinking, supportsImages }: OfferedModel, { url }: OfferedGateway) => ({
  id,
  name,
  url: `${url}/v1/chat/completions`,
  apiType: "chat-completions",
  toolCalling: true,
  vision: supportsImages,
  thinking: isThinking,
  streaming: true,
  maxInputTokens: Math.max(window - MAX_OUTPUT, MAX_OUTPUT),
  maxOutputTokens: MAX_OUTPUT,
});
