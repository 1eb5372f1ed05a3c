import type { DriverModule } from "../shared/driver-module.ts";
import { SETTINGS } from "./settings.ts";

export const cursor = {
  name: "cursor",
  settings: SETTINGS,
  async create(context) {
    const { openCursorDriver } = await import("./open-driver.ts");
    return openCursorDriver(context);
  },
} satisfies DriverModule<typeof SETTINGS>;
