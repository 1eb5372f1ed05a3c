import { choice } from "../../config/setting.ts";
import { CURSOR_SETTINGS } from "../shared/cursor-settings.ts";

export const SETTINGS = {
  legacyCall: choice(
    ["unified", "chat"],
    "Call that the driver cursor-legacy uses. chat is the older one and has no tools.",
  ),
  ...CURSOR_SETTINGS,
};
