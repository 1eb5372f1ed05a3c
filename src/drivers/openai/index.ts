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
    return createOpenAiDriver(apiOptions({ ...context, name: "openai", own, officialURL: OPENAI_URL }));
  },
} satisfies DriverModule<typeof SETTINGS>;
