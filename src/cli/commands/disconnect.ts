import { Command } from "@commander-js/extra-typings";

export const disconnectCommand = () =>
  new Command("disconnect")
    .description("Put a client's configuration back as it was before `connect`.")
    .argument("[client...]", "which; without it, all that are connected")
    .option("--force", "also where the file has changed since; the changed one is kept beside it", false)
    .option("--json", "print the outcome as JSON", false)
    .action(async (clients, flags) => {
      const { runDisconnect } = await import("./run-disconnect.ts");
      runDisconnect(clients, flags);
    });
