import { choice } from "../../config/setting.ts";
import { optionalOrigin } from "../../config/url-settings.ts";
import { CURSOR_SETTINGS } from "../shared/cursor-settings.ts";

export const SETTINGS = {
  agentUpstream: optionalOrigin("Where runs go, instead of the host that the backend names for them."),
  transport: choice(["auto", "h2", "h1"], "How runs reach the backend; auto lets the backend say."),
  ...CURSOR_SETTINGS,
};
