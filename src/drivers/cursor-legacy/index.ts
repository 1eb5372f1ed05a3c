import type { CursorSettings } from "../shared/cursor-settings.ts";
import { clientHeaders } from "../shared/cursor-settings.ts";
import type { DriverContext, DriverModule } from "../shared/driver-module.ts";
import type { LegacyModels } from "./driver.ts";
import { SETTINGS } from "./settings.ts";

/** Creates the module. The list of Cursor's models is injected, since it belongs to another driver. */
export const createCursorLegacy = (openModels: (context: DriverContext<CursorSettings>) => Promise<LegacyModels>) =>
  ({
    name: "cursor-legacy",
    settings: SETTINGS,
    async create(context) {
      const { createLegacyDriver } = await import("./driver.ts");
      const { settings, origin, transports, access } = context;
      return createLegacyDriver({
        origin,
        transport: transports.h2,
        method: settings.legacyCall,
        access,
        client: clientHeaders(settings),
        models: await openModels(context),
      });
    },
  }) satisfies DriverModule<typeof SETTINGS>;
