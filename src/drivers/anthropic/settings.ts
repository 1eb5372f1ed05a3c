import { baseUrl } from "../../config/url-settings.ts";
import { apiKey } from "../shared/api/api-settings.ts";

export const ANTHROPIC_URL = "https://api.anthropic.com";

export const SETTINGS = {
  anthropic: {
    key: apiKey("API key for Anthropic, or for a compatible server."),
    baseURL: baseUrl("Base URL of the Anthropic API or of a compatible server, without /v1.", ANTHROPIC_URL),
  },
};
