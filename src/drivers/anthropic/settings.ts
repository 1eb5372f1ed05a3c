import { baseUrl } from "../../config/url-settings.ts";
import { apiKey } from "../shared/api-settings.ts";

export const ANTHROPIC_URL = "https://api.anthropic.com";

export const SETTINGS = {
  anthropic: {
    key: apiKey("The key of Anthropic's API, or of a server that speaks it."),
    baseURL: baseUrl("The base URL of that API, without /v1.", ANTHROPIC_URL),
  },
};
