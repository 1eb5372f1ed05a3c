import { openConnectedClients } from "../../app/open-connected-clients.ts";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";

export interface DisconnectFlags {
  readonly fromBackup: boolean;
  readonly json: boolean;
}

export function runDisconnect(clients: readonly string[], { fromBackup, json }: DisconnectFlags): void {
  const connectedClients = openConnectedClients();
  const ids = clients.length > 0 ? clients : connectedClients.list().map(({ id }) => id);
  const unknown = ids.find((id) => !connectedClients.find(id));
  if (unknown !== undefined) {
    throw new ExcursorError("not_connected", [JSON.stringify(unknown)]);
  }
  const restored = ids.flatMap((id) => connectedClients.disconnect(id, { fromBackup }) ?? []);
  if (json) {
    process.stdout.write(`${jsonText(restored.map(({ id, file }) => ({ client: id, file })))}\n`);
    return;
  }
  for (const { id, file, isChanged } of restored) {
    const outcome = isChanged && !fromBackup ? "was disconnected; its later changes stay" : "was restored";
    process.stdout.write(`${id}: ${file} ${outcome}.\n`);
  }
  if (restored.length === 0) process.stdout.write("No client is connected.\n");
}
