import { isAgentModel } from "../../core/models/agent-models.ts";
import type { DriverModule } from "../shared/driver-module.ts";
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
