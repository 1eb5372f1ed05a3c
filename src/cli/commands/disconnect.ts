import { Command } from "@commander-js/extra-typings";

export const disconnectCommand = () =>
  new Command("disconnect")
    .description("Take what `connect` wrote out of a client's configuration. Later changes stay in it.")
    .argument("[client...]", "clients to disconnect; without it, all connected clients")
    .option("--from-backup", "restore the file from before; a changed one is kept as a copy", false)
    .option("--json", "print the result as JSON", false)
    .action(async (clients, flags) => (await import("../actions/disconnect.ts")).runDisconnect(clients, flags));
