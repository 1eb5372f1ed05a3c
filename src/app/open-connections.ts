import { join } from "node:path";
import { Connections } from "../client-config/connections.ts";
import { openHome } from "../config/home.ts";
import { loadConfig } from "./load-config.ts";

/** Opens the list of connected clients in the home folder. */
export function openConnections(): Connections {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  openHome(home);
  return new Connections(join(home, "connections"));
}
