import { Command } from "@commander-js/extra-typings";

export const disconnectCommand = () =>
  new Command("disconnect")
    .description("Restore a client's configuration from before `connect`.")
    .argument("[client...]", "clients to disconnect; without it, all connected clients")
    .option("--force", "restore even if the file has changed since; the changed file is kept as a copy", false)
    .option("--json", "print the result as JSON", false)
    .action(async (clients, flags) => (await import("../actions/disconnect.ts")).runDisconnect(clients, flags));
