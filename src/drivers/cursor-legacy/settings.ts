import { choice } from "../../config/setting.ts";
import { CURSOR_SETTINGS } from "../shared/cursor-settings.ts";

export const SETTINGS = {
  legacyCall: choice(["unified", "chat"], "Which call `cursor-legacy` makes; chat is the oldest, and knows no tools."),
  ...CURSOR_SETTINGS,
};
