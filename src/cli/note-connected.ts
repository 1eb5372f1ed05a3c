import { openConnectedClients } from "../app/open-connected-clients.ts";
import { ownCommand } from "./own-command.ts";

/** Names the clients that still use a gateway which stops now. */
export function noteConnected(url: string): void {
  const clients = openConnectedClients().pointingAt(url);
  if (clients.length === 0) return;
  const names = clients.map(({ id }) => id).join(" ");
  process.stderr.write(
    `Still connected to ${url}: ${names}. To undo it: ${ownCommand(process.env)} disconnect ${names}\n`,
  );
}
