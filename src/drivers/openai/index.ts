import { apiOptions } from "../shared/api/api-settings.ts";
import type { DriverModule } from "../shared/driver-module.ts";
import { OPENAI_URL, SETTINGS } from "./settings.ts";

export const openai = {
  name: "openai",
  settings: SETTINGS,
  takesEntries: true,
  async create(context) {
    const { createOpenAiDriver } = await import("./driver.ts");
    const own = context.settings.openai;
    const options = apiOptions({ ...context, name: "openai", own, officialURL: OPENAI_URL });
    return createOpenAiDriver({ ...options, api: context.entry?.api ?? own.api });
  },
} satisfies DriverModule<typeof SETTINGS>;
