import { copyFileSync } from "node:fs";
import { CLIENTS_FOLDER, installClients } from "../../../scripts/install-clients.ts";

export function setup(): void {
  installClients();
  copyFileSync(new URL("sdk-driver.mjs", import.meta.url), `${CLIENTS_FOLDER}/sdk-driver.mjs`);
}
