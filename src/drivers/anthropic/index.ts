import { apiOptions } from "../shared/api/api-settings.ts";
import type { DriverModule } from "../shared/driver-module.ts";
import { ANTHROPIC_URL, SETTINGS } from "./settings.ts";

export const anthropic = {
  name: "anthropic",
  settings: SETTINGS,
  takesEntries: true,
  async create(context) {
    const { createAnthropicDriver } = await import("./driver.ts");
    const own = context.settings.anthropic;
    return createAnthropicDriver(apiOptions({ ...context, name: "anthropic", own, officialURL: ANTHROPIC_URL }));
  },
} satisfies DriverModule<typeof SETTINGS>;
