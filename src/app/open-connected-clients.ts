import { join } from "node:path";
import { ConnectedClients } from "../client-config/connected-clients.ts";
import { openHome } from "../config/home.ts";
import { loadConfig } from "./load-config.ts";

/** Opens the record of connected clients, which is in the home folder. */
export function openConnectedClients(): ConnectedClients {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  openHome(home);
  return new ConnectedClients(join(home, "connections"));
}
