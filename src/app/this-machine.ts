import { existsSync } from "node:fs";
import { homedir } from "node:os";
import type { Machine } from "../client-config/client-recipe.ts";

/** Where clients have their configuration on this machine. */
export const thisMachine = (): Machine => ({
  home: homedir(),
  platform: process.platform,
  environment: process.env,
  exists: existsSync,
});
