import { choice } from "../../config/setting.ts";
import { baseUrl } from "../../config/url-settings.ts";
import { apiKey } from "../shared/api/api-settings.ts";

export const OPENAI_URL = "https://api.openai.com/v1";

export const SETTINGS = {
  openai: {
    key: apiKey("API key for OpenAI, or for a compatible server."),
    baseURL: baseUrl("Base URL of the OpenAI API or of a compatible server, with /v1.", OPENAI_URL),
    api: choice(
      ["auto", "responses", "chat"],
      "API to use: responses or chat (Chat Completions). auto is responses for OpenAI itself, chat for other base URLs. An entry of `models` may have its own `api`.",
    ),
  },
};
