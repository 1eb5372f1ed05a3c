import { baseUrl } from "../../config/url-settings.ts";
import { apiKey } from "../shared/api-settings.ts";

export const OPENAI_URL = "https://api.openai.com/v1";

export const SETTINGS = {
  openai: {
    key: apiKey("The key of OpenAI's API, or of a server that speaks it."),
    baseURL: baseUrl("The base URL of that API, with /v1.", OPENAI_URL),
  },
};
