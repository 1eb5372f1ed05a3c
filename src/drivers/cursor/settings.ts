import { choice } from "../../config/setting.ts";
import { optionalOrigin } from "../../config/url-settings.ts";
import { CURSOR_SETTINGS } from "../shared/cursor-settings.ts";

export const SETTINGS = {
  agentUpstream: optionalOrigin(
    "Host for runs, instead of the one that the backend names. It receives the account's token.",
  ),
  transport: choice(["auto", "h2", "h1"], "HTTP version for runs: h2, h1, or auto to let the backend choose."),
  ...CURSOR_SETTINGS,
};
