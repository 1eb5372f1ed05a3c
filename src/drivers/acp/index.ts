import type { DriverModule } from "../shared/driver-module.ts";
import { isAgentModel } from "./model-names.ts";
import { SETTINGS } from "./settings.ts";

export const acp = {
  name: "acp",
  settings: SETTINGS,
  claims: isAgentModel,
  async create(context) {
    const { openAcpDriver } = await import("./open-driver.ts");
    return openAcpDriver(context);
  },
} satisfies DriverModule<typeof SETTINGS>;
